#include <fmt/core.h>

#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

/// What is there, `old`, with what comes.
std::string combined_text(plan::Combination combination, bool is_integer, const std::string& update) {
  switch (combination) {
    case plan::Combination::add:
      return is_integer ? fmt::format("plus(old, {})", update) : fmt::format("old + {}", update);
    case plan::Combination::multiply:
      return is_integer ? fmt::format("times(old, {})", update) : fmt::format("old * {}", update);
    case plan::Combination::maximum:
      return fmt::format("larger({}, old)", update);
    case plan::Combination::minimum:
      return fmt::format("smaller({}, old)", update);
    default:
      return update;
  }
}

/// A thread for each element looks through all positions, so updates of one element come in their order.
Result<std::vector<Launch>> write_scatter(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const View &data = step.inputs[0], &to = step.outputs[0];
  const auto combination = static_cast<const plan::ScatterParameters&>(*step.parameters).combination;
  const std::int64_t size = data.dims[0], inner = data.dims[1], count = step.inputs[1].dims[0];
  constexpr std::int64_t most_comparisons = std::int64_t{1} << 32;  // the reference makes one pass over the positions
  if (auto ends = check_work(to.size(), count, "comparisons of positions", most_comparisons); !ends)
    return ends.error();
  const bool combines = combination != plan::Combination::replace;
  const Lane lane = plan::lane_of(data.type);
  const LinearLoop loop(to.size());
  std::string update = fmt::format("x2[(long long)i * {}u + at % {}u]", inner, inner);
  if (combines) update = loaded(data.type, lane, update);
  const std::string old = combines ? loaded(data.type, lane, "x0[at]") : "x0[at]";
  Launch launch;
  launch.text = fmt::format(
      "{0} {{\n{1}    auto old = {2};\n    const long long row = at / {3}u;\n"
      "    for (Count i = 0; i < {4}u; ++i) {{\n"
      "      const long long position = x1[i] < 0 ? (long long)x1[i] + {5} : x1[i];\n"
      "      if (at == 0 && (position < 0 || position >= {5})) *fault = 1;\n"
      "      if (position == row) old = {6};\n    }}\n    y[at] = {7};\n{8}}}\n",
      write_parameters(step, preparation, true), loop.begin(), old, inner, count, size,
      combined_text(combination, lane == Lane::i64, update), combines ? stored(to.type, lane, "old") : "old",
      loop.end());
  launch.fault = "a position to scatter to is outside the axis";
  launch.add_operands(step);
  launch.blocks = loop.blocks();
  launch.threads = loop.threads();
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_scatter(StepRegistry& registry);
void register_scatter(StepRegistry& registry) { registry.add(plan::scatter_step, write_scatter); }

}  // namespace onnxkit::cuda
