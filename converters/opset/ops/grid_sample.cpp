#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/interpolation.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

constexpr ElementType real_grid_sample = ElementType::float64;

InterpolationRules rules_of(Step& step) {
  const std::string mode = step.string("mode"), padding = step.string("padding_mode");
  InterpolationRules rules;
  rules.mode = mode == "nearest"                      ? Interpolation::nearest
               : mode == "cubic" || mode == "bicubic" ? Interpolation::cubic
                                                      : Interpolation::linear;
  rules.outside = padding == "border"       ? Outside::border
                  : padding == "reflection" ? Outside::reflection
                                            : Outside::zeros;
  rules.mirrors_at_centres = step.integer("align_corners") != 0;
  return rules;
}

/// From -1 ... 1 to elements, [N, P].
ValueId position(Step& step, ValueId grid, std::int64_t axes, std::size_t axis, ValueId length, bool align_corners) {
  const ValueId number = step.scalar(axes - 1 - static_cast<std::int64_t>(axis));
  const ValueId own = step.add("Gather", {grid, number}, {{"axis", axes + 1}}, "coordinate");
  const ValueId one = step.number(real_grid_sample, 1, "one"), two = step.number(real_grid_sample, 2, "two");
  ValueId at = step.add("Add", {step.add("Flatten", {own}, {{"axis", std::int64_t{1}}}), one});
  if (align_corners) {
    at = step.add("Mul", {step.add("Div", {at, two}), step.add("Sub", {length, one})}, {}, "position");
  } else {
    at = step.add("Div", {step.add("Sub", {step.add("Mul", {at, length}), one}), two}, {}, "position");
  }
  return at;
}

std::int64_t need_image_rank(Step& step) {
  const auto rank = step.rank(step.input(0));
  return rank ? *rank : step.need_rank(step.input(1));
}

void in_steps_grid_sample(Step& step) {
  const std::int64_t axes = need_image_rank(step) - 2;
  if (axes < 1 || axes > 5) refuse("older operators can sample images with one to five axes only");
  const ElementType type = step.need_elem(step.input(0));
  const InterpolationRules rules = rules_of(step);
  const bool is_nearest = rules.mode == Interpolation::nearest;
  if (!is_nearest && type == ElementType::boolean) refuse("booleans cannot be interpolated");
  const ElementType work = is_nearest ? type : real_grid_sample;
  const checker::Shape* shape = step.shape(step.input(0));
  const std::int64_t batch = shape && shape->front().is_constant() ? shape->front().constant() : -1;
  const ValueId sizes = step.add("Shape", {step.input(0)}, {}, "sizes");
  const std::vector<ValueId> lengths = image_lengths(step, sizes, static_cast<std::size_t>(axes), shape);
  const ValueId grid = cast(step, step.input(1), real_grid_sample, "grid");
  std::vector<ValueId> positions;
  for (std::size_t axis = 0; axis < lengths.size(); ++axis)
    positions.push_back(position(step, grid, axes, axis, lengths[axis], rules.mirrors_at_centres));
  const ValueId image = cast(step, step.input(0), work, "image");
  const ValueId images = each_image(step, image, batch, lengths.size());
  const ValueId sampled = interpolate(step, image, work, images, lengths, positions, rules);
  const ValueId channels = step.add("Transpose", {sampled}, {{"perm", List{0, 2, 1}}}, "planes");
  const ValueId points = slice(step, step.add("Shape", {step.input(1)}), 0, 1, axes + 1, "points");
  const ValueId result =
      step.add("Concat", {slice(step, sizes, 0, 0, 2, "front"), points}, {{"axis", std::int64_t{0}}}, "shape");
  if (work == type) {
    step.emit("Reshape", {channels, result}, {step.output(0)});
  } else {
    const ValueId shaped = step.add("Reshape", {channels, result}, {}, "shaped");
    step.emit("Cast", {shaped}, {step.output(0)}, {{"to", static_cast<std::int64_t>(type)}});
  }
  step.replace();
}

void new_names(Step& step) {
  const std::string mode = step.string("mode");
  step.set({"mode", mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode});
}

void old_names(Step& step) {
  if (need_image_rank(step) != 4) {
    in_steps_grid_sample(step);
    return step.note("rewritten using Gather: version 16 supports images with two axes only");
  }
  const std::string mode = step.string("mode");
  step.set({"mode", mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode});
}

}  // namespace

void register_grid_sample(StepRegistry& registry) {
  registry.introduced({"GridSample"}, 16, adapt("rewritten using Gather and weights", in_steps_grid_sample));
  registry.change({"GridSample"}, 20, adapt("modes have new names", new_names),
                  adapt("modes have old names", old_names));
  registry.types({"GridSample"}, {22});
}

}  // namespace onnxkit::opset
