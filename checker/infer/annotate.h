#pragma once

#include "libonnxkit/ir/model.h"
#include "onnxkit/infer.h"

namespace onnxkit::checker {

/// Infers and writes what was found into the model, as onnxkit::infer.
Result<InferReport> annotate(ir::Model& model, const InferOptions& options);

}  // namespace onnxkit::checker
