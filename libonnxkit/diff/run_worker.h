#pragma once

#include "onnxkit/run.h"

namespace onnxkit::diffing {

/// Runs a model once in the process of another runtime; `report` has the inputs and gets the rest.
Result<void> run_in_worker(const Model& model, const RunOptions& options, RunReport& report);

}  // namespace onnxkit::diffing
