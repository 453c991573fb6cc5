#include "converters/opset/steps.h"

namespace onnxkit::opset {

void register_einsum(StepRegistry& registry) { registry.types({"Einsum"}, {28}); }

}  // namespace onnxkit::opset
