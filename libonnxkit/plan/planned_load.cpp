#include "libonnxkit/plan/planned_load.h"

#include <utility>

#include <fmt/core.h>

#include "libonnxkit/exec/passes_option.h"
#include "libonnxkit/exec/support.h"
#include "libonnxkit/exec/threads_option.h"
#include "libonnxkit/plan/pass.h"

namespace onnxkit::plan {

void describe_plans(exec::BackendDesc& desc) {
  desc.formats = {"onnx"};
  desc.options[exec::without_pass_option] = {
      .help = "passes that the plan is made without, with + between their names", .fallback = "", .values = {}};
  desc.options[exec::threads_option] = exec::describe_threads_option();
  desc.capabilities.in_memory = true;
  desc.capabilities.profile = exec::ProfileDetail::step;
  desc.capabilities.passes = pass_names();
}

Result<PlannedOptions> planned_options(const exec::BackendDesc& desc, const exec::ModelSource& source,
                                       const exec::LoadOptions& options) {
  if (!source.model) return make_error("not-supported", fmt::format("the backend {} runs ONNX models only", desc.name));
  if (!source.model->graph) return make_error("no-graph", "the model has no graph");
  if (auto checked = exec::check_load(desc, source, options); !checked) return checked.error();
  PlannedOptions planned;
  planned.load = options;
  planned.load.threads = exec::threads_of(options);
  if (!planned.load.context) planned.load.context = std::make_shared<exec::SessionContext>();
  if (!planned.load.table) planned.load.table = std::make_shared<spec::OpTable>();
  planned.plans_bodies = true;
  if (const auto given = options.options.find(exec::without_pass_option); given != options.options.end()) {
    auto names = exec::passes_named(given->second, pass_names());
    if (!names) return names.error();
    planned.without_passes = *std::move(names);
  }
  return planned;
}

}  // namespace onnxkit::plan
