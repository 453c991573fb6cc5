#include "converters/opset/emit.h"
#include "converters/opset/registry.h"

namespace onnxkit::opset {

void register_expand(StepRegistry& registry) { registry.types({"Expand"}, {13}); }

}  // namespace onnxkit::opset
