#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {

void register_identity(StepRegistry& registry) { registry.types({"Identity"}, {13, 14, 16, 19, 21, 23, 24, 25}); }

}  // namespace onnxkit::opset
