#include <algorithm>

#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {

void register_gather(StepRegistry& registry) {
  registry.change(
      {"Gather"}, 11, compatible("indices may also be negative"),
      adapt("indices made non-negative", [](Step& step) { indices_from_front(step, 0, 1, step.integer("axis")); }));
  registry.types({"Gather"}, {13});
}

}  // namespace onnxkit::opset
