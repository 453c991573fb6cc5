#include "converters/opset/compose/coordinates.h"

#include <algorithm>

#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"

namespace onnxkit::opset {

std::int64_t coordinates_of(Step& step, ValueId data, ValueId indices) {
  const checker::Shape* shape = step.shape(indices);
  if (!shape || shape->empty() || !shape->back().is_constant())
    refuse_unknown("the length of the index tuples is unknown");
  const std::int64_t count = shape->back().constant();
  const auto rank = step.rank(data);
  if (count < 1 || (rank && count > *rank)) refuse("the index tuples are empty or longer than the rank of the data");
  return count;
}

ValueId row_of(Step& step, ValueId data, ValueId indices, std::int64_t count) {
  const std::int64_t rank = step.need_rank(indices);
  std::vector<Size> sizes, strides(static_cast<std::size_t>(count), Size(1));
  for (std::int64_t i = 0; i < count; ++i) sizes.push_back(size_of(step, data, i));
  for (std::size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = product(step, strides[i], sizes[i]);
  const auto known = step.constant_integers(indices);
  const bool may_be_negative =
      !known || std::any_of(known->begin(), known->end(), [](std::int64_t i) { return i < 0; });
  ValueId index = indices;
  if (may_be_negative) {
    const ValueId is_negative = step.add("Less", {index, step.scalar(0)}, {}, "is_negative");
    const ValueId added = step.add(
        "Mul", {cast(step, is_negative, ElementType::int64, "is_negative"), as_shape(step, sizes)}, {}, "added");
    index = step.add("Add", {index, added}, {}, "counted");
  }
  const ValueId scaled = step.add("Mul", {index, as_shape(step, strides)}, {}, "scaled");
  return reduce(step, "ReduceSum", scaled, {rank - 1}, false, "row");
}

ValueId reduced(Step& step, const std::string& reduction, ElementType type, ValueId old, ValueId update) {
  const bool is_boolean = type == ElementType::boolean;
  if (reduction == "add") return step.add(is_boolean ? "Or" : "Add", {old, update}, {}, "reduced");
  if (reduction == "mul") return step.add(is_boolean ? "And" : "Mul", {old, update}, {}, "reduced");
  if (reduction == "min") return step.add(is_boolean ? "And" : "Min", {old, update}, {}, "reduced");
  if (reduction == "max") return step.add(is_boolean ? "Or" : "Max", {old, update}, {}, "reduced");
  refuse("unknown reduction");
}

}  // namespace onnxkit::opset
