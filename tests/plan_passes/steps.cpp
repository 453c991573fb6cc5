#include "tests/plan_passes/steps.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "libonnxkit/compare/verdict.h"
#include "libonnxkit/cpu/session.h"
#include "libonnxkit/exec/perturbed.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/plan/planned.h"
#include "tests/plan_passes/models.h"

namespace onnxkit::reference {
void register_reference_backend(exec::BackendRegistry& registry);
}

namespace onnxkit::plan_cases {
namespace {

namespace fs = std::filesystem;

/// A way to make a plan of a model.
struct Setting {
  std::string name;
  std::string without = {};     ///< a pass over steps
  bool joins = true;            ///< the backend takes steps that were joined
  plan::StepKind on_host = {};  ///< that the backend does not take; no name: none
};

std::vector<Setting> settings() {
  std::vector<Setting> all = {{.name = "all passes"}, {.name = "a backend that joins nothing", .joins = false}};
  for (const char* pass : {"fuse_maps", "fuse_epilogues", "sink_copies", "split_maps"})
    all.push_back({.name = fmt::format("without {}", pass), .without = pass});
  for (const plan::StepKind& kind :
       {plan::map_step, plan::product_step, plan::convolution_step, plan::pool_step, plan::reduce_step,
        plan::softmax_step, plan::normalize_step, plan::attention_step, plan::gather_step, plan::grouped_product_step,
        plan::weighted_gather_step, plan::tree_ensemble_step, plan::cumulative_step})
    all.push_back({.name = fmt::format("{} on the reference", kind.name), .on_host = kind});
  return all;
}

/// A conversion, which brings operands to host steps.
bool converts_only(const plan::Step& step) {
  return step.inputs.size() == 1 && step.inputs[0].type != step.outputs[0].type;
}

class Runner {
 public:
  Runner() {
    exec::BackendRegistry registry;
    reference::register_reference_backend(registry);
    host_ = registry.find("reference", settings_)->make(settings_);
    load_.context = std::make_shared<exec::SessionContext>();
    load_.table = table();
    load_.allow_outside_data = true;
    load_.threads = 1;
  }

  Result<std::vector<exec::Spread>> spreads(const std::shared_ptr<const ir::Model>& model,
                                            const exec::RunRequest& request, int samples) {
    auto session = host_->load({.model = model}, load_);
    if (!session) return session.error();
    exec::PerturbedOptions perturbed;
    perturbed.samples = samples;
    return (*session)->perturbed()->run(request, perturbed);
  }

  /// The outputs with a plan made so, and in `text` the plan.
  Result<std::vector<NamedValue>> run(const std::shared_ptr<const ir::Model>& model, const exec::RunRequest& request,
                                      const Setting& setting, std::string& text) {
    plan::PlannedOptions options;
    options.load = load_;
    options.host = host_;
    if (!setting.without.empty()) options.without_passes.insert(setting.without);
    options.takes = [&setting](const plan::Plan& plan, const plan::Step& step) -> std::optional<std::string> {
      if (step.kind == setting.on_host && !converts_only(step)) return "the test wants it so";
      if (!setting.joins && step.nodes.size() > 1) return "the test wants it so";
      return cpu::kernel_registry().refusal(plan, step);
    };
    const auto shared = std::make_shared<cpu::Shared>(cpu::Shared{.load = load_, .host = host_, .packed = {}});
    options.make = [shared](plan::Plan plan, plan::HostNodes&, const plan::PlannedRun& run) {
      return cpu::ReadyPlan::make(std::move(plan), *shared, run);
    };
    plan::PlannedSession session(model, std::move(options));
    if (auto prepared = session.prepare("float32"); !prepared) return prepared.error();
    auto answer = session.run(request);
    if (!answer) return answer.error();
    text = session.plan_report()->text;
    return std::move(answer->outputs);
  }

 private:
  exec::BackendSettings settings_;
  std::shared_ptr<exec::Backend> host_;
  exec::LoadOptions load_;
};

std::string fault_of(const exec::Spread& spread, const Value& got, bool& in_doubt) {
  if (!got.is_tensor() || !spread.exact.is_tensor())
    return comparison::identical(spread.exact, got) || !got.is_tensor() ? "" : "another kind of value";
  Profile profile = Profile::float32;
  if (spread.type == ElementType::float16) profile = Profile::float16;
  if (spread.type == ElementType::bfloat16) profile = Profile::bfloat16;
  const auto verdict = comparison::verdict_of(spread, got.tensor, profile);
  in_doubt = in_doubt || verdict.in_doubt;
  const bool is_wrong = verdict.verdict == Verdict::mismatch || verdict.verdict == Verdict::not_rounding;
  return is_wrong ? "not rounding: " + verdict.why : "";
}

struct Judged {
  std::vector<std::string> faults;
  std::size_t plans = 0;
};

/// Nothing for models that the reference does not run.
std::optional<Judged> judge(Runner& runner, const fs::path& path) {
  auto loaded = load_as_is(path);
  if (!loaded) return std::nullopt;
  const auto model = std::make_shared<const ir::Model>(std::move(loaded->model));
  exec::RunRequest request;
  for (std::size_t i = 0; i < loaded->inputs.size(); ++i) {
    const std::string name(model->graph->name_of(model->graph->inputs[i].value));
    request.inputs.push_back({name, loaded->inputs[i]});
  }
  constexpr int few = 4, many = 16;
  auto spreads = runner.spreads(model, request, few);
  if (!spreads) return std::nullopt;
  bool has_many = false;
  Judged judged;
  std::vector<std::string> seen;
  for (const Setting& setting : settings()) {
    std::string text;
    const auto outputs = runner.run(model, request, setting, text);
    const auto fail = [&](const std::string& why) {
      judged.faults.push_back(fmt::format("{}, {}: {}", path.string(), setting.name, why));
    };
    if (!outputs) {
      fail(outputs.error().diagnostic.message);
      continue;
    }
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
    seen.push_back(text);
    ++judged.plans;
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      bool in_doubt = false;
      std::string fault = fault_of((*spreads)[i], (*outputs)[i].value, in_doubt);
      if (!fault.empty() && in_doubt && !has_many) {
        spreads = runner.spreads(model, request, many);
        if (!spreads) return std::nullopt;
        has_many = true;
        fault = fault_of((*spreads)[i], (*outputs)[i].value, in_doubt);
      }
      if (!fault.empty()) fail(fmt::format("output {}: {}", (*outputs)[i].name, fault));
    }
  }
  return judged;
}

std::vector<fs::path> models_in(const std::vector<fs::path>& places) {
  std::vector<fs::path> found;
  for (const fs::path& place : places) {
    if (!fs::is_directory(place)) {
      found.push_back(place);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(place)) {
      const auto extension = entry.path().extension();
      if (extension == ".onnx" || extension == ".onnxtxt") found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

int run_steps(std::size_t every, const std::vector<fs::path>& places) {
  Runner runner;
  std::size_t models = 0, plans = 0, failed = 0, skipped = 0;
  const std::vector<fs::path> found = models_in(places);
  for (std::size_t i = 0; i < found.size(); i += std::max<std::size_t>(every, 1)) {
    const auto judged = judge(runner, found[i]);
    ++(judged ? models : skipped);
    if (!judged) continue;
    plans += judged->plans;
    failed += judged->faults.size();
    for (const std::string& fault : judged->faults) fmt::print("{}\n", fault);
  }
  fmt::print("{} models, {} plans, {} failures, {} that do not run\n", models, plans, failed, skipped);
  return failed == 0 && models > 0 ? 0 : 1;
}

}  // namespace onnxkit::plan_cases
