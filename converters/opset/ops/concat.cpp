#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

void write_axis(Step& step) {
  if (!step.has("axis")) step.set({"axis", std::int64_t{1}});
}

}  // namespace

void register_concat(StepRegistry& registry) {
  registry.change({"Concat"}, 4, adapt("wrote out axis: its default was 1", write_axis),
                  compatible("axis is already given"));
  registry.change(
      {"Concat"}, 11, compatible("axis may also be negative"),
      adapt("axis made non-negative", [](Step& step) { axis_from_front(step, "axis", step.input_count()); }));
  registry.types({"Concat"}, {13});
}

}  // namespace onnxkit::opset
