#include "converters/opset/compose/element_types.h"
#include "converters/opset/engine/registry.h"

namespace onnxkit::opset {

void register_unique(StepRegistry& registry) {
  registry.introduced({"Unique"}, 11, never("no operator below opset 11 finds equal elements of a tensor"));
  registry.change({"Unique"}, 28, compatible("it only allows more types"), by_way_of(through_float32()));
}

}  // namespace onnxkit::opset
