#include <ctime>

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "libonnxkit/cpu/session.h"
#include "libonnxkit/exec/passes_option.h"
#include "libonnxkit/exec/perturbed.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/exec/support.h"
#include "libonnxkit/exec/threads_option.h"
#include "libonnxkit/spec/op_table.h"

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
    desc.formats = {"onnx"};
    desc.arithmetic = name_of(Profile::float32);
    desc.options[exec::without_pass_option] = {
        .help = "passes that the plan is made without, with + between their names", .fallback = "", .values = {}};
    desc.options[exec::threads_option] = exec::describe_threads_option();
    desc.capabilities.in_memory = true;
    desc.capabilities.profile = exec::ProfileDetail::step;
    desc.capabilities.passes = plan::pass_names();
    return desc;
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source,
                                              const exec::LoadOptions& options) override {
    if (!source.model) return make_error("not-supported", "the backend cpu runs ONNX models only");
    if (!source.model->graph) return make_error("no-graph", "the model has no graph");
    if (auto checked = exec::check_load(*describe(), source, options); !checked) return checked.error();
    plan::PlannedOptions planned;
    planned.load = options;
    planned.load.threads = exec::threads_of(options);
    if (!planned.load.context) planned.load.context = std::make_shared<exec::SessionContext>();
    if (!planned.load.table) planned.load.table = std::make_shared<spec::OpTable>();
    if (const auto given = options.options.find(exec::without_pass_option); given != options.options.end()) {
      auto names = exec::passes_named(given->second, plan::pass_names());
      if (!names) return names.error();
      planned.without_passes = *std::move(names);
    }
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
    planned.plans_bodies = true;
    planned.takes = [](const plan::Plan& plan, const plan::Step& step) {
      return kernel_registry().refusal(plan, step);
    };
    planned.make = [shared](plan::Plan plan, plan::HostNodes&) { return ReadyPlan::make(std::move(plan), *shared); };
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
