#include "converters/opset/engine/registry.h"

namespace onnxkit::opset {

void register_non_zero(StepRegistry& registry) {
  registry.introduced({"NonZero"}, 9,
                      never("no operator below opset 9 has an output whose size is the number of nonzero elements"));
  registry.types({"NonZero"}, {13});
}

}  // namespace onnxkit::opset
