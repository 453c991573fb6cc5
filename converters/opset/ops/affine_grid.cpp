#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

/// Number of image axes: theta is [N, 2, 3] or [N, 3, 4], the size [N, C, H, W] or [N, C, D, H, W].
std::int64_t image_axes(Step& step) {
  const checker::Shape* theta = step.shape(step.input(0));
  if (theta && theta->size() == 3 && (*theta)[1].is_constant()) return (*theta)[1].constant();
  const auto axes = length_of_axis_list(step, step.input(1));
  if (!axes) refuse_unknown("whether images have two or three axes is unknown");
  return *axes - 2;
}

/// Positions from -1 to 1 of the elements of an axis, which has `length` (a scalar).
ValueId positions_affine_grid(Step& step, ValueId length, ElementType type, bool align_corners) {
  const ValueId zero = step.scalar(0), one = step.scalar(1);
  const Attr to_type{"to", static_cast<std::int64_t>(type)};
  const ValueId index = step.add("Cast", {step.add("Range", {zero, length, one})}, {to_type}, "index");
  const ValueId two = step.number(type, 2, "two"), unit = step.number(type, 1, "one");
  const ValueId doubled = step.add("Mul", {index, two}, {}, "doubled");
  ValueId numerator = doubled, steps = step.add("Cast", {length}, {to_type}, "length");
  if (align_corners) {
    // A single element lies at -1.
    steps = step.add("Max", {step.add("Sub", {steps, unit}), unit}, {}, "steps");
  } else {
    numerator = step.add("Add", {doubled, unit}, {}, "odd");
  }
  return step.add("Sub", {step.add("Div", {numerator, steps}), unit}, {}, "positions");
}

void in_steps_affine_grid(Step& step) {
  const std::int64_t axes = image_axes(step);
  if (axes != 2 && axes != 3) refuse("only images with two or three axes are supported");
  const ElementType type = step.need_elem(step.input(0)), work = wider(type, ElementType::float32);
  const bool align_corners = step.integer("align_corners") != 0;
  const ValueId size = step.input(1);
  const ValueId image = slice(step, size, 0, 2, 2 + axes, "image");
  std::vector<ValueId> coordinates;
  for (std::int64_t axis = axes - 1; axis >= 0; --axis) {
    const ValueId length = step.add("Gather", {size, step.scalar(axis + 2)}, {}, "length");
    List shape(static_cast<std::size_t>(axes), 1);
    shape[static_cast<std::size_t>(axis)] = -1;
    const ValueId line = reshape(step, positions_affine_grid(step, length, work, align_corners), shape, "line");
    coordinates.push_back(unsqueeze(step, step.add("Expand", {line, image}), {axes}, "coordinate"));
  }
  const ValueId ones = step.add("Expand", {step.number(work, 1), image}, {}, "ones");
  coordinates.push_back(unsqueeze(step, ones, {axes}, "ones"));
  const ValueId positions = step.add("Concat", coordinates, {{"axis", axes}}, "places");
  const ValueId rows = reshape(step, positions, {-1, axes + 1}, "rows");
  const ValueId theta = cast(step, step.input(0), work, "theta");
  const ValueId turned = step.add("Transpose", {theta}, {{"perm", List{0, 2, 1}}}, "turned");
  const ValueId moved = step.add("MatMul", {rows, turned}, {}, "moved");
  const ValueId shape = step.add("Concat", {slice(step, size, 0, 0, 1, "batch"), image, step.vector(List{axes})},
                                 {{"axis", std::int64_t{0}}}, "shape");
  if (work == type) {
    step.emit("Reshape", {moved, shape}, {step.output(0)});
  } else {
    const ValueId grid = step.add("Reshape", {moved, shape}, {}, "grid");
    step.emit("Cast", {grid}, {step.output(0)}, {{"to", static_cast<std::int64_t>(type)}});
  }
  step.replace();
}

}  // namespace

void register_affine_grid(StepRegistry& registry) {
  registry.introduced({"AffineGrid"}, 20, adapt("rewritten as positions times theta", in_steps_affine_grid));
}

}  // namespace onnxkit::opset
