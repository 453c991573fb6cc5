#pragma once

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/plan/planned.h"

// What backends that run plans have in common when they describe themselves and load a model.
namespace onnxkit::plan {

/// Adds the formats, options and capabilities of a backend that runs plans.
void describe_plans(exec::BackendDesc& desc);

/// What a load asks for, with a context and a table; where steps run is left to the backend.
/// Errors: not-supported, no-graph, unknown-option, those of exec::check_load.
Result<PlannedOptions> planned_options(const exec::BackendDesc& desc, const exec::ModelSource& source,
                                       const exec::LoadOptions& options);

}  // namespace onnxkit::plan
