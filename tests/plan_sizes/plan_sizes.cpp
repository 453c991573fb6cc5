// A session that runs with one size after the other makes the plans that a session of its own would make for each, and computes the same.
//   plan_sizes [--backend cuda] [--outputs] CASE.txt...            "model FILE", then a line of named sizes for each run: "past=7 total=8"; before it "generic " where the
//                                                 plan comes from a generic model, "refused " where both sessions have to say the same error
//   plan_sizes [--backend cuda] [--outputs] --given MODEL A.npz... the inputs of each run
// --outputs: steps may differ, since passes run twice over the nodes of a generic model and may join more of them, and any run may be refused.
// From the third run on plans are made from a generic model (libonnxkit/plan/generic_model.h) where a pattern fits.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/formats/frame/load.h"
#include "libonnxkit/inputs/files/value_file.h"
#include "libonnxkit/inputs/generate.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit {
namespace {

namespace fs = std::filesystem;
using Inputs = std::vector<NamedValue>;

struct Run {
  Inputs inputs;
  std::string expected = {};  ///< as the case says: "generic", "refused", nothing or, of no case, "any"
};

Result<ir::Model> read(const fs::path& path) {
  const auto source = formats::open_source(path);
  if (!source) return source.error();
  ReadReport report;
  return formats::load_model(*source, {}, report);
}

/// The inputs for sizes such as "past=7 total=8".
Result<Inputs> generated(const ir::Model& model, const std::string& sizes, std::uint64_t seed) {
  inputs::GenerateOptions options;
  options.seed = seed;
  std::istringstream words(sizes);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return make_error("usage", fmt::format("{} is not NAME=SIZE", word));
    options.dims[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  }
  auto made = inputs::generate_inputs(model, spec::OpTable(), {}, options);
  if (!made) return made.error();
  Inputs named;
  for (std::size_t i = 0; i < made->inputs.size(); ++i) {
    const ir::ValueId id = model.graph->inputs[i].value;
    if (made->inputs[i].value.kind != ValueKind::none)
      named.push_back({std::string(model.graph->name_of(id)), std::move(made->inputs[i].value)});
  }
  return named;
}

/// The steps of the plan that was used last, by their kinds and nodes.
std::vector<std::string> steps_of(const exec::Session& session) {
  std::vector<std::string> steps;
  const auto report = session.plan_report();
  if (!report) return steps;
  for (std::size_t i = 0; i < report->parts.size(); ++i) {
    const PlanPart& part = report->parts[i];
    if (i > 0 && part.of == report->parts.front().of) break;  // the plan that was used before
    for (const PlanStep& step : part.steps) {
      std::vector<std::string> nodes;
      for (const PlanNode& node : step.nodes) nodes.push_back(node.name);
      std::sort(nodes.begin(), nodes.end());
      steps.push_back(fmt::format("{} {}", step.kind, fmt::join(nodes, " + ")));
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// The plan that was used last.
bool is_from_generic(const exec::Session& session) {
  const auto report = session.plan_report();
  const std::size_t start = report ? report->text.find("\nsteps ") : std::string::npos;
  return start != std::string::npos &&
         report->text.substr(start, report->text.find('\n', start + 1) - start).find(", from a generic model, ") !=
             std::string::npos;
}

std::string message_of(const Result<exec::RunAnswer>& answer) {
  return answer ? "fine" : answer.error().diagnostic.message;
}

bool same_bytes(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  if (a.is_tensor()) {
    const auto left = a.tensor.bytes(), right = b.tensor.bytes();
    return a.tensor.type() == b.tensor.type() && a.tensor.dims() == b.tensor.dims() &&
           std::equal(left.begin(), left.end(), right.begin(), right.end());
  }
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), same_bytes);
}

class Cases {
 public:
  explicit Cases(const std::string& backend) : backend_(all_backends().find(backend, {})->make({})) {}

  int passed = 0, failed = 0;
  bool only_outputs = false;
  int refused = 0;  ///< by both sessions with the same words

  void fail(const std::string& what, const std::string& why) {
    ++failed;
    fmt::print("{}: {}\n", what, why);
  }

  void check(const std::string& name, const std::shared_ptr<const ir::Model>& model, const std::vector<Run>& runs) {
    exec::LoadOptions options;
    options.threads = 1;
    const auto load = [&] { return backend_->load({.model = model}, options); };
    auto together = load();
    if (!together) return fail(name, together.error().diagnostic.message);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::string what = fmt::format("{}, run {}", name, i + 1);
      const exec::RunRequest request{.inputs = runs[i].inputs};
      auto alone = load();
      const auto expected = (*alone)->run(request), found = (*together)->run(request);
      if (expected && found && runs[i].expected != "refused") {
        compare(what, runs[i].expected, **alone, **together, *expected, *found);
      } else if (expected || found || expected.error().diagnostic.message != found.error().diagnostic.message) {
        fail(what,
             fmt::format("a session of its own says \"{}\", this one \"{}\"", message_of(expected), message_of(found)));
      } else if (runs[i].expected == "refused") {
        ++passed;
      } else if (only_outputs) {
        ++refused;
      } else {
        fail(what, message_of(found));
      }
    }
  }

 private:
  void compare(const std::string& what, const std::string& plan_is, const exec::Session& alone,
               const exec::Session& together, const exec::RunAnswer& expected, const exec::RunAnswer& found) {
    if (!only_outputs && plan_is != "any" && is_from_generic(together) != (plan_is == "generic"))
      return fail(what, fmt::format("its plan comes from {} model", plan_is == "generic" ? "the" : "a generic"));
    std::vector<std::string> missing, more;
    const auto wanted = steps_of(alone), made = steps_of(together);
    std::set_difference(wanted.begin(), wanted.end(), made.begin(), made.end(), std::back_inserter(missing));
    std::set_difference(made.begin(), made.end(), wanted.begin(), wanted.end(), std::back_inserter(more));
    if (!only_outputs && (!missing.empty() || !more.empty()))
      return fail(what, fmt::format("other steps\n  without: {}\n  with: {}", fmt::join(missing, "\n           "),
                                    fmt::join(more, "\n        ")));
    for (std::size_t k = 0; k < expected.outputs.size(); ++k) {
      if (k >= found.outputs.size() || !same_bytes(expected.outputs[k].value, found.outputs[k].value))
        return fail(what, fmt::format("output \"{}\" differs", expected.outputs[k].name));
    }
    ++passed;
  }

  std::unique_ptr<exec::Backend> backend_;
};

void check_case(Cases& cases, const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::shared_ptr<const ir::Model> model;
  std::vector<Run> runs;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (line.rfind("model ", 0) == 0) {
      auto held = read(path.parent_path() / line.substr(6));
      if (!held) return cases.fail(path.string(), held.error().diagnostic.message);
      model = std::make_shared<const ir::Model>(*std::move(held));
      continue;
    }
    std::string expected;
    for (const std::string_view word : {"generic", "refused"}) {
      if (line.rfind(word, 0) == 0) expected = word;
    }
    auto inputs =
        model ? generated(*model, line.substr(expected.size()), runs.size()) : make_error("usage", "no model");
    if (!inputs) return cases.fail(path.string(), inputs.error().diagnostic.message);
    runs.push_back({*std::move(inputs), expected});
  }
  if (runs.empty()) return cases.fail(path.string(), "no runs");
  cases.check(path.string(), model, runs);
}

void check_given(Cases& cases, const std::vector<std::string>& words) {
  auto held = read(words[0]);
  if (!held) return cases.fail(words[0], held.error().diagnostic.message);
  const auto model = std::make_shared<const ir::Model>(*std::move(held));
  std::vector<Run> runs;
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto inputs = inputs::read_inputs(*model, words[i]);
    if (!inputs) return cases.fail(words[i], inputs.error().diagnostic.message);
    runs.push_back({*std::move(inputs), "any"});
  }
  cases.check(words[0], model, runs);
}

}  // namespace
}  // namespace onnxkit

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string backend = "cpu";
  if (words.size() > 1 && words[0] == "--backend") {
    backend = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  onnxkit::Cases cases(backend);
  if (!words.empty() && words[0] == "--outputs") {
    cases.only_outputs = true;
    words.erase(words.begin());
  }
  if (words.size() > 2 && words[0] == "--given") {
    onnxkit::check_given(cases, {words.begin() + 1, words.end()});
  } else {
    for (const std::string& path : words) onnxkit::check_case(cases, path);
  }
  if (cases.refused > 0) fmt::print("{} refused\n", cases.refused);
  fmt::print("{} passed, {} failed\n", cases.passed, cases.failed);
  return cases.failed == 0 && cases.passed > 0 ? 0 : 1;
}
