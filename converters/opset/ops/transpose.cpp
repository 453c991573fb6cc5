#include "converters/opset/engine/registry.h"

namespace onnxkit::opset {

void register_transpose(StepRegistry& registry) { registry.types({"Transpose"}, {13, 21, 23, 24, 25}); }

}  // namespace onnxkit::opset
