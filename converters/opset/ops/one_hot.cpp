#include <algorithm>
#include <cmath>

#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

bool is_never_negative(Step& step) {
  const ElementType type = step.elem(step.input(0));
  if (type == ElementType::uint8 || type == ElementType::uint16 || type == ElementType::uint32) return true;
  const auto values = step.constant_reals(step.input(0));
  return values && std::all_of(values->begin(), values->end(), [](double value) { return value >= 0; });
}

ValueId depth_as_scalar(Step& step) {
  const ValueId depth = cast(step, step.input(1), ElementType::int64, "depth");
  return step.add("Reshape", {depth, step.vector(std::vector<std::int64_t>())}, {}, "depth");
}

/// Until version 10 negative indices are off, later they count from the end.
void negative_to_outside(Step& step) {
  if (is_never_negative(step)) return;
  const ValueId index = cast(step, step.input(0), ElementType::int64, "indices");
  const ValueId is_negative = step.add("Less", {index, step.scalar(0)}, {}, "is_negative");
  step.set_input(0, step.add("Where", {is_negative, depth_as_scalar(step), index}, {}, "indices"));
  step.note("negative indices replaced with depth, which is out of range");
}

void negative_to_front(Step& step) {
  const std::int64_t axis = step.integer("axis");
  if (axis < -1) step.set({"axis", axis + step.need_rank(step.input(0)) + 1});
  if (is_never_negative(step)) return;
  const ValueId index = cast(step, step.input(0), ElementType::int64, "indices");
  const ValueId is_negative = step.add("Less", {index, step.scalar(0)}, {}, "is_negative");
  const ValueId added = step.add("Add", {index, depth_as_scalar(step)}, {}, "counted");
  step.set_input(0, step.add("Where", {is_negative, added, index}, {}, "indices"));
  step.note("negative indices made non-negative");
}

std::int64_t known_depth(Step& step, std::int64_t axis) {
  if (const auto given = step.constant_real(step.input(1)); given && std::abs(*given) < 1e9)
    return static_cast<std::int64_t>(*given);
  const auto result = promised_shape(step, step.output(0));
  const std::int64_t at = axis < 0 && result ? axis + static_cast<std::int64_t>(result->size()) : axis;
  if (result && at >= 0 && at < static_cast<std::int64_t>(result->size()) &&
      (*result)[static_cast<std::size_t>(at)].is_constant())
    return (*result)[static_cast<std::size_t>(at)].constant();
  refuse_unknown("the depth is computed at run time");
}

/// Off or on is an index into the two values, 0 or 1 where a count along the axis equals the index.
void pick_from_values(Step& step) {
  const std::int64_t axis = step.integer("axis");
  const ValueId index = cast(step, step.input(0), ElementType::int64, "indices");
  std::int64_t behind = 0;
  ValueId column = ValueId::none;
  if (axis == -1) {
    const ValueId shape = step.add("Shape", {index}, {}, "shape");
    const ValueId one = step.vector(std::vector<std::int64_t>{1});
    const ValueId column_shape = step.add("Concat", {shape, one}, {{"axis", std::int64_t{0}}}, "column_shape");
    column = step.add("Reshape", {index, column_shape}, {}, "column");
  } else {
    behind = step.need_rank(step.input(0)) - axis;
    column = unsqueeze(step, index, {axis}, "column");
  }
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(behind + 1), 1);
  sizes[0] = known_depth(step, axis);
  storable_count(sizes);
  std::vector<double> counts;
  for (std::int64_t i = 0; i < sizes[0]; ++i) counts.push_back(static_cast<double>(i));
  const ValueId count = step.numbers(ElementType::int64, sizes, counts, "classes");
  const ValueId is_on = step.add("Equal", {column, count}, {}, "is_on");
  step.emit("Gather", {step.input(2), cast(step, is_on, ElementType::int64, "choice")}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_one_hot(StepRegistry& registry) {
  registry.introduced({"OneHot"}, 9, adapt("rewritten as Equal, and Gather of the two values", pick_from_values));
  registry.change({"OneHot"}, 11, adapt("negative indices still select the off value", negative_to_outside),
                  adapt("negative indices made non-negative", negative_to_front));
  registry.change({"OneHot"}, 28, compatible("it only allows more types"), by_way_of(through_float32()));
}

}  // namespace onnxkit::opset
