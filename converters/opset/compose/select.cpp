#include "converters/opset/compose/select.h"

#include <numeric>

#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/loops.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

ValueId select_booleans(Step& step, ValueId condition, ValueId yes, ValueId no) {
  const ValueId otherwise = step.add("Not", {condition}, {}, "otherwise");
  return step.add("Or",
                  {step.add("And", {condition, yes}, {}, "chosen"), step.add("And", {otherwise, no}, {}, "other")}, {},
                  "selected");
}

/// One of the two times 1, the other times 0.
ValueId select_integers(Step& step, ValueId condition, ValueId yes, ValueId no, ElementType type) {
  const bool is_narrow = storage_bits(type) < 32;
  const ElementType computed = is_narrow ? ElementType::int32 : type;
  const auto part = [&](ValueId flag, ValueId value) {
    const ValueId wide = is_narrow ? cast(step, value, computed, "wide") : value;
    return step.add("Mul", {cast(step, flag, computed, "flag"), wide}, {}, "part");
  };
  const ValueId chosen = part(condition, yes);
  const ValueId other = part(step.add("Not", {condition}, {}, "otherwise"), no);
  const ValueId selected = step.add("Add", {chosen, other}, {}, "selected");
  return is_narrow ? cast(step, selected, type, "selected") : selected;
}

}  // namespace

namespace {

/// The shape that the three broadcast to, where the sizes are not known.
ValueId computed_shape(Step& step, const std::vector<ValueId>& values, ElementType type) {
  if (type == ElementType::string)
    refuse_unknown("the sizes of the result must be known in order to select text by position");
  ValueId all = values.front();
  for (std::size_t i = 1; i < values.size(); ++i)
    all = step.add("Or", {all, cast(step, values[i], ElementType::boolean, "any")}, {}, "all");
  return step.add("Shape", {all}, {}, "shape");
}

/// Gather from both, one after the other, at the position of each element or as many behind it.
ValueId select_by_place(Step& step, ValueId condition, ValueId yes, ValueId no, ValueId shape, ValueId count,
                        ValueId positions) {
  const auto flat = [&](ValueId value) {
    const ValueId full = step.add("Expand", {value, shape}, {}, "expanded");
    return reshape(step, full, {-1}, "flat");
  };
  const ValueId data = step.add("Concat", {flat(no), flat(yes)}, {{"axis", std::int64_t{0}}}, "both");
  const ValueId behind = step.add("Mul", {cast(step, condition, ElementType::int64, "flag"), count}, {}, "behind");
  const ValueId placed = step.add("Reshape", {with_zero_sizes(step, positions, shape), shape}, {}, "positions");
  const ValueId index = step.add("Add", {placed, behind}, {}, "index");
  return step.add("Gather", {data, index}, {{"axis", std::int64_t{0}}}, "selected");
}

}  // namespace

/// Reals and text: Gather from both, one after the other, at the position of each element or as many behind it.
ValueId select(Step& step, ValueId condition, ValueId yes, ValueId no, ElementType type,
               const std::optional<std::vector<std::int64_t>>& sizes) {
  if (step.opset_after() >= 9) return step.add("Where", {condition, yes, no}, {}, "selected");
  if (type == ElementType::boolean) return select_booleans(step, condition, yes, no);
  if (is_integer(type)) return select_integers(step, condition, yes, no, type);
  if (!sizes) {
    const ValueId shape = computed_shape(step, {condition, yes, no}, type), count = product_of(step, shape);
    return select_by_place(step, condition, yes, no, shape, count, counted_by_loop(step, count));
  }
  const std::int64_t count = storable_count(*sizes);
  const auto flat = [&](ValueId value) {
    const ValueId full =
        step.sizes(value) == sizes ? value : step.add("Expand", {value, step.vector(*sizes, "shape")}, {}, "expanded");
    return step.add("Flatten", {full}, {{"axis", std::int64_t{0}}}, "flat");
  };
  const ValueId both = step.add("Concat", {flat(no), flat(yes)}, {{"axis", std::int64_t{1}}}, "both");
  const ValueId data = step.add("Squeeze", {both}, {{"axes", std::vector<std::int64_t>{0}}}, "data");
  ValueId index = cast(step, condition, ElementType::int64, "flag");
  if (count != 1 || step.sizes(condition) != sizes) {
    std::vector<double> positions(static_cast<std::size_t>(count));
    std::iota(positions.begin(), positions.end(), 0.0);
    const ValueId position = step.numbers(ElementType::int64, *sizes, positions, "positions");
    index = step.add("Add", {position, step.add("Mul", {index, step.scalar(count)}, {}, "behind")}, {}, "index");
  }
  return step.add("Gather", {data, index}, {{"axis", std::int64_t{0}}}, "selected");
}

ValueId rounded(Step& step, ValueId x, ElementType type) {
  const ValueId half = step.number(type, 0.5, "half"), two = step.number(type, 2, "two");
  const ValueId whole = step.add("Floor", {x}, {}, "whole");
  const ValueId rest = step.add("Sub", {x, whole}, {}, "rest");
  const ValueId halved = step.add("Floor", {step.add("Div", {whole, two}, {}, "halved")}, {}, "halved_whole");
  const ValueId parity = step.add("Sub", {whole, step.add("Mul", {halved, two}, {}, "even")}, {}, "parity");
  const ValueId is_odd = step.add("Greater", {parity, half}, {}, "is_odd");
  const ValueId is_less = step.add("Less", {rest, half}, {}, "is_less");
  const ValueId up_from_odd = step.add("And", {step.add("Not", {is_less}, {}, "is_half"), is_odd}, {}, "up_from_odd");
  const ValueId up = step.add("Or", {step.add("Greater", {rest, half}, {}, "is_more"), up_from_odd}, {}, "up");
  return step.add("Add", {whole, cast(step, up, type, "one_up")}, {}, "rounded");
}

ValueId is_number(Step& step, ValueId x, ElementType type) {
  const ValueId below = step.add("Less", {x, step.number(type, 1, "one")}, {}, "is_below_one");
  const ValueId above = step.add("Greater", {x, step.number(type, 0, "zero")}, {}, "is_above_zero");
  return step.add("Or", {below, above}, {}, "is_number");
}

}  // namespace onnxkit::opset
