#include "converters/opset/steps.h"

namespace onnxkit::opset {

void register_col2im(StepRegistry& registry) {
  registry.introduced({"Col2Im"}, 18, never("no older operator adds up blocks that overlap"));
}

}  // namespace onnxkit::opset
