#pragma once

#include "checker/inference.h"
#include "onnxkit/infer.h"

namespace onnxkit::api {

/// What the public functions that infer have in common: schema packs, fixed sizes, external data. Errors: as onnxkit::infer.
Result<checker::InferredModel> infer_types(const ir::Model& model, const InferOptions& options, checker::Sink& sink);

}  // namespace onnxkit::api
