#pragma once

#include "checker/infer/inference.h"
#include "onnxkit/infer.h"

namespace onnxkit::checker {

/// What the public functions that infer have in common: fixed sizes, external data. Errors: as onnxkit::infer.
Result<InferredModel> infer_model(const ir::Model& model, const InferOptions& options, Collector& collector);

}  // namespace onnxkit::checker
