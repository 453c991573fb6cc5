#pragma once

#include <cstdint>
#include <vector>

#include "converters/foreign/export.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

// What a model goes through before another framework's writer sees it.
namespace onnxkit::legalize {

/// Brings the model to one opset of ai.onnx by the steps of upgrade and downgrade, with calls of model-local functions replaced by the bodies of those
/// that `writers` has no mapping for. Error code: unsupported-operator, then `findings` has what stands in the way.
Result<void> bring_to(ir::Model& model, std::int64_t opset, const foreign::Writers& writers,
                      std::vector<Diagnostic>& findings);

}  // namespace onnxkit::legalize
