#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// The function body of the specification, for all axes.
void pad_then_slice(Step& step) {
  using Integers = std::vector<std::int64_t>;
  const ValueId x = step.input(0), shape = step.add("Shape", {x}, {}, "shape");
  ValueId wanted = cast(step, step.input(1), ElementType::int64, "wanted");
  const ValueId axes = integers_as_input(step, "axes");
  if (axes != ValueId::none) wanted = step.add("ScatterElements", {shape, axes, wanted}, {}, "wanted");
  const ValueId two = step.vector(Integers{2}, "two");
  const ValueId padded = step.add("Max", {shape, wanted}, {}, "padded_shape");
  const ValueId amount = step.add("Sub", {padded, shape}, {}, "amount");
  const ValueId in_front = step.add("Div", {amount, two}, {}, "in_front");
  const ValueId behind = step.add("Sub", {amount, in_front}, {}, "behind");
  const ValueId pads = step.add("Concat", {in_front, behind}, {{"axis", std::int64_t{0}}}, "pads");
  const ValueId start = step.add("Div", {step.add("Sub", {padded, wanted}, {}, "excess"), two}, {}, "start");
  const ValueId end = step.add("Add", {start, wanted}, {}, "end");
  step.emit("Slice", {step.add("Pad", {x, pads}, {}, "padded"), start, end}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_center_crop_pad(StepRegistry& registry) {
  registry.introduced({"CenterCropPad"}, 18, adapt("rewritten as Pad and Slice", pad_then_slice));
}

}  // namespace onnxkit::opset
