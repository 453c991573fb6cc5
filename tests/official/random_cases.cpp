#include "tests/official/random_cases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/compare/metrics/compare.h"
#include "reference/executor/executor.h"
#include "reference/executor/tensor.h"

namespace onnxkit::official {
namespace {

struct RandomCase {
  std::string_view name;
  bool seeded;
  /// The function body of Bernoulli in the specification gives 1 where a uniform number is greater than the probability p, thus with 1 - p, against
  /// its own text. The expanded cases are such bodies and are judged by what their graph says.
  bool complement;
};

constexpr std::array<RandomCase, 6> random_cases = {{
    {"test_bernoulli", false, false},
    {"test_bernoulli_double", false, false},
    {"test_bernoulli_seed", true, false},
    {"test_bernoulli_expanded", false, true},
    {"test_bernoulli_double_expanded", false, true},
    {"test_bernoulli_seed_expanded", true, true},
}};

const RandomCase* find_case(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  const auto found =
      std::find_if(random_cases.begin(), random_cases.end(), [&](const RandomCase& row) { return row.name == name; });
  return found == random_cases.end() ? nullptr : &*found;
}

std::vector<double> numbers_of(const Value& value) {
  return reference::unpack(std::make_shared<reference::Memory>(), value.tensor).reals();
}

void remove_seeds(ir::Graph& graph) {
  for (ir::Node& node : graph.nodes)
    std::erase_if(node.attributes, [](const ir::Attribute& attribute) { return attribute.name.view() == "seed"; });
}

struct Draw {
  std::string fault = {};
  Value value = {};
};

Draw draw(reference::Executor& session, std::span<const Value> inputs, std::uint64_t seed) {
  reference::RunOptions options;
  options.seed = seed;
  options.threads = 1;
  const auto outputs = session.run(inputs, options);
  if (!outputs) return {outputs.error().diagnostic.message};
  return {{}, outputs->front()};
}

}  // namespace

bool is_random_case(std::string_view name) { return find_case(name) != nullptr; }

std::string judge_random_case(std::string_view name, ir::Model& model, const spec::OpTable& table,
                              std::span<const Value> inputs, const Value& recorded) {
  const RandomCase& row = *find_case(name);
  constexpr int draws = 2000;
  constexpr double deviations = 5;

  const auto session = reference::Executor::make(model, table, {});
  if (!session) return session.error().diagnostic.message;
  if (row.seeded) {
    const Draw first = draw(**session, inputs, 1), second = draw(**session, inputs, 2);
    if (!first.fault.empty()) return first.fault;
    if (const auto differs = comparison::difference(first.value, second.value))
      return "two runs with one seed differ: " + *differs;
    remove_seeds(*model.graph);
  }
  const std::vector<double> shares = numbers_of(inputs.front());
  std::vector<int> ones(shares.size(), 0);
  for (int i = 0; i < draws; ++i) {
    const Draw drawn = draw(**session, inputs, static_cast<std::uint64_t>(i));
    if (!drawn.fault.empty()) return drawn.fault;
    if (type_text(drawn.value) != type_text(recorded))
      return fmt::format("{} instead of {}", type_text(drawn.value), type_text(recorded));
    const std::vector<double> numbers = numbers_of(drawn.value);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (numbers[k] != 0 && numbers[k] != 1) return fmt::format("element {} is {}", k, numbers[k]);
      ones[k] += numbers[k] == 1;
    }
  }
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const double share = row.complement ? 1 - shares[k] : shares[k];
    const double spread = std::sqrt(share * (1 - share) / draws);
    const double got = static_cast<double>(ones[k]) / draws;
    if (std::abs(got - share) > deviations * spread)
      return fmt::format("element {} is 1 in {} of {} draws, not in {} of them", k, got, draws, share);
  }
  return {};
}

}  // namespace onnxkit::official
