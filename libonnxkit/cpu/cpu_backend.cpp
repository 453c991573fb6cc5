#include <utility>

#include "libonnxkit/cpu/session.h"
#include "libonnxkit/exec/perturbed.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/plan/planned_load.h"

namespace onnxkit::reference {
void register_reference_backend(exec::BackendRegistry& registry);
}

namespace onnxkit::cpu {
namespace {

class CpuBackend : public exec::Backend {
 public:
  explicit CpuBackend(exec::BackendSettings settings) : settings_(std::move(settings)) {}

  Result<exec::BackendDesc> describe() override {
    exec::BackendDesc desc;
    desc.name = "cpu";
    desc.runtime = "onnxkit";
    desc.version = ONNXKIT_VERSION;
    desc.title = "onnxkit cpu " + desc.version;
    desc.devices = {"cpu"};
    desc.arithmetic = name_of(Profile::float32);
    plan::describe_plans(desc);
    return desc;
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source,
                                              const exec::LoadOptions& options) override {
    auto asked = plan::planned_options(*describe(), source, options);
    if (!asked) return asked.error();
    plan::PlannedOptions planned = *std::move(asked);
    exec::BackendRegistry registry;
    reference::register_reference_backend(registry);
    auto host = registry.find("reference", settings_);
    if (!host) return host.error();
    planned.host = host->make(settings_);
    // What neither a plan nor the reference can run is said now.
    if (auto runs = planned.host->load(source, {.context = planned.load.context,
                                                .table = planned.load.table,
                                                .allow_outside_data = options.allow_outside_data});
        !runs)
      return runs.error();
    const auto shared = std::make_shared<Shared>(Shared{.load = planned.load, .host = planned.host, .packed = {}});
    planned.takes = [](const plan::Plan& plan, const plan::Step& step) {
      return kernel_registry().refusal(plan, step);
    };
    planned.make = [shared](plan::Plan plan, plan::HostNodes&, const plan::PlannedRun& run) {
      return ReadyPlan::make(std::move(plan), *shared, run);
    };
    auto session = std::make_unique<plan::PlannedSession>(source.model, std::move(planned));
    if (auto prepared = session->prepare(std::string(name_of(Profile::float32))); !prepared) return prepared.error();
    return std::unique_ptr<exec::Session>(std::move(session));
  }

 private:
  exec::BackendSettings settings_;
};

}  // namespace

void register_cpu_backend(exec::BackendRegistry& registry);
void register_cpu_backend(exec::BackendRegistry& registry) {
  registry.add({.name = "cpu",
                .make = [](const exec::BackendSettings& settings) { return std::make_unique<CpuBackend>(settings); }});
}

}  // namespace onnxkit::cpu
