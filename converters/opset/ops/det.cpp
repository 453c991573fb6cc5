#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {

void register_det(StepRegistry& registry) {
  registry.introduced(
      {"Det"}, 11,
      never("no older operator computes determinants, and products of elements lose digits by cancellation"));
  registry.types({"Det"}, {22});
}

}  // namespace onnxkit::opset
