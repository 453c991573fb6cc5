// plan_passes FOLDER:                   FOLDER/PASS/*.onnxtxt become what FOLDER/PASS/after shows by that pass alone, and compute the same
// plan_passes --models FOLDER [PASS]:   every model.onnx below FOLDER computes the same behind each pass alone and behind all, on its recorded inputs
// plan_passes --steps N PATH...:        every N-th model of these files and folders on the backend cpu: with all passes over steps, without each, with
//                                       steps that are never joined, and with each kind of step on the reference, judged by the noise floor
// plan_passes --counts FILE...:         how many nodes each pass leaves, all of them one after the other
//
// ONNXKIT_REBASE in the environment rewrites what `after` shows. Constants are folded before each pass, as in a plan. Results are compared without
// rounding between nodes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "checker/check.h"
#include "checker/collector.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/plan/build.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/spec/pattern_attributes.h"
#include "libonnxkit/wire/external/external_data.h"
#include "libonnxkit/wire/text.h"
#include "reference/executor/executor.h"
#include "tests/plan_passes/models.h"
#include "tests/plan_passes/steps.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;
using plan_cases::content_of;
using plan_cases::Loaded;
using plan_cases::made_up;
using plan_cases::table;

Result<std::vector<Value>> computed(const ir::Model& model, const std::vector<Value>& inputs, exec::MathMode math) {
  wire::ExternalData external(model.path, {.allow_outside = true, .verify_checksums = false});
  const auto session = reference::Executor::make(
      model, *table(), {.external_bytes = [&external](const ir::Tensor& tensor) { return external.bytes(tensor); }});
  if (!session) return session.error();
  reference::RunOptions options;
  options.math = math;
  options.rounds_constants = true;  // as folded ones are
  return (*session)->run(inputs, options);
}

Result<std::vector<NamedValue>> evaluated(const ir::Model& model) {
  auto outputs = computed(model, {}, exec::MathMode::declared);
  if (!outputs) return outputs.error();
  std::vector<NamedValue> named;
  for (Value& value : *outputs) named.push_back({"", std::move(value)});
  return named;
}

/// Why two values are not the same but for the rounding of constants; empty when they are.
std::string difference(const Value& want, const Value& got, double tolerance) {
  if (want.kind != got.kind) return "another kind of value";
  if (want.items.size() != got.items.size()) return "another number of elements";
  for (std::size_t i = 0; i < want.items.size(); ++i) {
    if (auto differs = difference(want.items[i], got.items[i], tolerance); !differs.empty()) return differs;
  }
  if (!want.is_tensor()) return "";
  if (want.tensor.type() != got.tensor.type() || want.tensor.dims() != got.tensor.dims()) return "another type or size";
  if (!std::equal(want.tensor.strings().begin(), want.tensor.strings().end(), got.tensor.strings().begin(),
                  got.tensor.strings().end()))
    return "other strings";
  const std::vector<double> a = to_reals(want.tensor), b = to_reals(got.tensor);
  double largest = 0;
  for (const double x : a) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= tolerance * (std::abs(a[i]) + 1e-2 * largest)))
      return fmt::format("element {} is {} instead of {}", i, b[i], a[i]);
  }
  return "";
}

std::string difference(const std::vector<Value>& want, const std::vector<Value>& got, double tolerance) {
  if (want.size() != got.size()) return "another number of outputs";
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (const auto differs = difference(want[i], got[i], tolerance); !differs.empty())
      return fmt::format("output {}: {}", i, differs);
  }
  return "";
}

/// Narrow types round folded constants more.
double tolerance_for(const ir::Model& model) {
  double tolerance = 2e-5;
  for (const ir::Tensor& tensor : model.graph->initializers) {
    if (tensor.data_type == static_cast<std::int32_t>(ElementType::float16)) tolerance = 5e-2;
    if (tensor.data_type == static_cast<std::int32_t>(ElementType::bfloat16)) tolerance = 0.2;
  }
  return tolerance;
}

const plan::Pass* find_pass(const std::vector<plan::Pass>& passes, std::string_view name) {
  const auto found =
      std::find_if(passes.begin(), passes.end(), [&](const plan::Pass& pass) { return pass.name == name; });
  return found == passes.end() ? nullptr : &*found;
}

/// Runs the passes; the error's text, or "".
std::string run_passes(plan::Subject& subject, const std::vector<const plan::Pass*>& passes) {
  for (const plan::Pass* pass : passes) {
    if (const auto ran = pass->run(subject); !ran) return ran.error().diagnostic.message;
  }
  return "";
}

/// Without the attributes that only plans know.
ir::Model in_words_of_onnx(const ir::Model& model) {
  ir::Model copy = ir::clone(model);
  for (ir::Graph* graph : ir::mutable_graphs(copy))
    for (ir::Node& node : graph->nodes)
      std::erase_if(node.attributes, [](const ir::Attribute& attribute) {
        return std::ranges::find(spec::pattern_attributes, attribute.name.view()) != spec::pattern_attributes.end();
      });
  return copy;
}

std::set<std::string> errors_of(const ir::Model& model) {
  checker::Collector collector;
  checker::check_model(in_words_of_onnx(model), *table(), {}, collector);
  std::set<std::string> errors;
  for (const Diagnostic& found : collector.diagnostics()) {
    if (found.severity == Severity::error) errors.insert(found.code + ": " + found.message);
  }
  return errors;
}

/// An error of a model that it did not have before, or "".
std::string new_error(const ir::Model& model, const ir::Model& before) {
  const std::set<std::string> known = errors_of(before);
  for (const std::string& error : errors_of(model)) {
    if (!known.contains(error)) return error;
  }
  return "";
}

std::string judge_text(const fs::path& path, const std::string& pass_name) {
  const auto passes = plan::pass_registry().ordered();
  const plan::Pass* pass = find_pass(passes, pass_name);
  if (!pass) return "no such pass";
  auto model = wire::parse_text(content_of(path), "test");
  if (!model.ok()) return model.error().diagnostic.message;
  const std::vector<Value> inputs = made_up(*model);
  const auto want = computed(*model, inputs, exec::MathMode::unrounded);
  if (!want) return want.error().diagnostic.message;
  plan::Subject subject(ir::clone(*model), table(), evaluated, {});
  if (const auto fault = run_passes(subject, {find_pass(passes, "fold_constants"), pass}); !fault.empty()) return fault;
  const fs::path expected = path.parent_path() / "after" / path.filename();
  const std::string text = wire::print_text(subject.model());
  if (std::getenv("ONNXKIT_REBASE") != nullptr) {
    fs::create_directories(expected.parent_path());
    std::ofstream(expected, std::ios::binary) << text;
  }
  if (text != content_of(expected)) return "became\n" + text;
  if (const auto wrong = new_error(subject.model(), *model); !wrong.empty()) return wrong;
  const auto got = computed(subject.model(), inputs, exec::MathMode::unrounded);
  return got ? difference(*want, *got, tolerance_for(*model)) : got.error().diagnostic.message;
}

/// All of FOLDER/PASS/*.onnxtxt.
int run_texts(const fs::path& folder) {
  std::size_t passed = 0, failed = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (path.extension() != ".onnxtxt" || path.parent_path().filename() == "after") continue;
    const std::string fault = judge_text(path, path.parent_path().filename().string());
    ++(fault.empty() ? passed : failed);
    if (!fault.empty()) fmt::print("{}: {}\n", path.string(), fault);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

/// What is wrong behind some pass; nothing for models that the reference does not run as they are. Folding rounds what it computes, and where that
/// decides something (T5's buckets of positions) so does a run with rounding: folding is held against that, all other passes against the folded
/// model without rounding.
std::optional<std::vector<std::string>> judge_model(const fs::path& path, const std::string& only) {
  const auto loaded = plan_cases::load(path);
  if (!loaded) return std::nullopt;
  const auto rounded = computed(loaded->model, loaded->inputs, exec::MathMode::declared);
  if (!rounded) return std::nullopt;
  const auto passes = plan::pass_registry().ordered();
  std::vector<std::string> faults;
  const auto add = [&](std::string_view name, const std::string& fault) {
    if (!fault.empty()) faults.push_back(fmt::format("{} behind {}: {}", path.string(), name, fault));
  };
  plan::Subject folded(ir::clone(loaded->model), table(), evaluated, {.allow_outside_data = true});
  const plan::Pass* const fold = find_pass(passes, "fold_constants");
  add(fold->name, run_passes(folded, {fold}));
  const auto folded_rounded = computed(folded.model(), loaded->inputs, exec::MathMode::declared);
  add(fold->name, folded_rounded ? difference(*rounded, *folded_rounded, tolerance_for(loaded->model))
                                 : folded_rounded.error().diagnostic.message);
  const auto want = computed(folded.model(), loaded->inputs, exec::MathMode::unrounded);
  if (!want) return std::vector<std::string>{want.error().diagnostic.message};
  const auto judge = [&](std::string_view name, const std::vector<const plan::Pass*>& chosen) {
    plan::Subject subject(ir::clone(folded.model()), table(), evaluated, {.allow_outside_data = true});
    const std::size_t before = subject.graph().nodes.size();
    std::string fault = run_passes(subject, chosen);
    if (fault.empty() && subject.graph().nodes.size() != before) fault = new_error(subject.model(), folded.model());
    const auto got = computed(subject.model(), loaded->inputs, exec::MathMode::unrounded);
    if (fault.empty())
      fault = got ? difference(*want, *got, tolerance_for(loaded->model)) : got.error().diagnostic.message;
    add(name, fault);
  };
  std::vector<const plan::Pass*> all;
  for (const plan::Pass& pass : passes) {
    all.push_back(&pass);
    if (&pass != fold && (only.empty() || only == pass.name)) judge(pass.name, {&pass});
  }
  judge("all passes", all);
  return faults;
}

int run_models(const fs::path& folder, const std::string& only) {
  std::size_t models = 0, failed = 0, skipped = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    const auto faults = judge_model(entry.path(), only);
    ++(faults ? models : skipped);
    if (!faults) fmt::print("{}: skipped\n", entry.path().string());
    if (!faults) continue;
    failed += faults->size();
    for (const std::string& fault : *faults) fmt::print("{}\n", fault);
  }
  fmt::print("{} models, {} failures, {} that do not run\n", models, failed, skipped);
  return failed == 0 && models > 0 ? 0 : 1;
}

void count(const fs::path& path) {
  auto loaded = plan_cases::load(path);
  if (!loaded) return;
  plan::Subject subject(std::move(loaded->model), table(), evaluated, {.allow_outside_data = true});
  fmt::print("{}: {} nodes\n", path.string(), subject.graph().nodes.size());
  for (const plan::Pass& pass : plan::pass_registry().ordered()) {
    const std::size_t before = subject.graph().nodes.size();
    const auto start = std::chrono::steady_clock::now();
    const auto changed = pass.run(subject);
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    if (changed && *changed)
      fmt::print("  {}: {} -> {} nodes, {:.1f} ms\n", pass.name, before, subject.graph().nodes.size(), spent.count());
  }
  std::map<std::string, std::size_t> made;
  for (const ir::Node& node : subject.graph().nodes) ++made[std::string(node.op_type.view())];
  std::string text;
  for (const auto& [op, number] : made) text += fmt::format(" {} {}", number, op);
  fmt::print("  left:{}\n", text);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return 2;
  if (arguments[0] == "--models" && arguments.size() >= 2)
    return run_models(arguments[1], arguments.size() > 2 ? arguments[2] : "");
  if (arguments[0] == "--steps" && arguments.size() > 2)
    return plan_cases::run_steps(std::stoul(arguments[1]), {arguments.begin() + 2, arguments.end()});
  if (arguments[0] == "--counts") {
    for (std::size_t i = 1; i < arguments.size(); ++i) count(arguments[i]);
    return 0;
  }
  return run_texts(arguments[0]);
}
