#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
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

/// Writes operators of ai.onnx that a framework lacks with others of the same opset, as the steps of downgrade below the first version of each do:
/// losses, GridSample, Shrink ... An operator whose composition the opset does not allow stays. Whether there were any.
bool compose(ir::Model& model, const std::function<bool(std::string_view)>& is_unwanted);

}  // namespace onnxkit::legalize
