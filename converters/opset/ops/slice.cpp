#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

void lists_to_inputs(Step& step) {
  const ValueId starts = integers_as_input(step, "starts"), ends = integers_as_input(step, "ends");
  const ValueId axes = integers_as_input(step, "axes");
  for (const std::string_view name : {"starts", "ends", "axes"}) step.remove(name);
  step.set_input(1, starts);
  step.set_input(2, ends);
  if (axes != ValueId::none) step.set_input(3, axes);
}

struct Lists {
  std::vector<std::int64_t> starts, ends, axes, steps;
};

/// Nothing when one of them is computed at run time.
std::optional<Lists> constant_lists(Step& step) {
  Lists lists;
  std::vector<std::int64_t>* const targets[] = {&lists.starts, &lists.ends, &lists.axes, &lists.steps};
  for (std::size_t i = 0; i < std::size(targets); ++i) {
    if (!step.has_input(i + 1)) continue;
    auto values = step.constant_integers(step.input(i + 1));
    if (!values) return std::nullopt;
    *targets[i] = *std::move(values);
  }
  const std::size_t count = lists.starts.size();
  if (!step.has_input(3)) {
    lists.axes.resize(count);
    std::iota(lists.axes.begin(), lists.axes.end(), 0);
  }
  if (!step.has_input(4)) lists.steps.assign(count, 1);
  if (lists.ends.size() != count || lists.axes.size() != count || lists.steps.size() != count)
    refuse("starts, ends, axes and steps differ in length");
  return lists;
}

/// The positions of an axis that a slice with a step takes.
std::vector<std::int64_t> taken(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t stride) {
  std::vector<std::int64_t> positions;
  const std::int64_t last = stride > 0 ? size : size - 1, least = stride > 0 ? 0 : -1;
  start = std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, std::max<std::int64_t>(last, 0));
  end = std::clamp<std::int64_t>(end < 0 ? end + size : end, least, std::max(last, least));
  if (size == 0) return positions;
  stride = std::clamp<std::int64_t>(stride, -size, size);
  for (std::int64_t i = start; stride > 0 ? i < end : i > end; i += stride) positions.push_back(i);
  return positions;
}

void slice_by_attributes(Step& step, const Lists& lists) {
  step.set({"starts", lists.starts});
  step.set({"ends", lists.ends});
  step.set({"axes", lists.axes});
  step.drop_inputs(1);
}

void gather_counted(Step& step, const std::vector<std::int64_t>& axes);

/// Axes with a step of 1 by Slice, the others by Gather.
void gather_steps(Step& step, const Lists& lists) {
  const auto* shape = step.shape(step.input(0));
  Lists plain;
  std::vector<Link> links;
  for (std::size_t i = 0; i < lists.axes.size(); ++i) {
    const std::int64_t axis = lists.axes[i];
    if (lists.steps[i] == 1) {
      plain.starts.push_back(lists.starts[i]);
      plain.ends.push_back(lists.ends[i]);
      plain.axes.push_back(axis);
      continue;
    }
    if (lists.steps[i] == 0) refuse("a step of 0 is not allowed");
    const bool known = shape && axis >= 0 && axis < static_cast<std::int64_t>(shape->size());
    const checker::Dim size = known ? (*shape)[static_cast<std::size_t>(axis)] : checker::Dim();
    if (!size.is_constant()) return gather_counted(step, lists.axes);
    storable_count(std::vector{size.constant()});
    const auto positions = taken(size.constant(), lists.starts[i], lists.ends[i], lists.steps[i]);
    links.push_back({"Gather", {step.vector(positions, "positions")}, {{"axis", axis}}});
  }
  if (!plain.axes.empty())
    links.push_back({"Slice", {}, {{"starts", plain.starts}, {"ends", plain.ends}, {"axes", plain.axes}}});
  chain(step, step.input(0), std::move(links), step.output(0));
  step.replace();
  step.note("axes with a step other than 1 rewritten as Gather");
}

/// Start and step of an axis, float64 vectors of one element; `plain` when the axis stays as it is.
struct AxisRange {
  ValueId start, stride;
  bool plain = false;
};

AxisRange range_of_axis(Step& step, std::int64_t axis, const std::optional<std::vector<std::int64_t>>& axes) {
  const ValueId starts = cast(step, step.input(1), ElementType::float64, "starts");
  const ValueId one = reals(step, {1});
  if (axes) {
    const auto found = std::find(axes->begin(), axes->end(), axis);
    if (found == axes->end()) return {one, one, true};
    const std::int64_t at = found - axes->begin();
    const ValueId start = slice(step, starts, 0, at, at + 1, "start");
    if (!step.has_input(4)) return {start, one};
    return {start, slice(step, cast(step, step.input(4), ElementType::float64, "steps"), 0, at, at + 1, "step")};
  }
  const ValueId number = step.vector(std::vector<std::int64_t>{axis}, "axis");
  const ValueId is_it =
      step.add("Equal", {cast(step, step.input(3), ElementType::int64, "axes"), number}, {}, "is_axis");
  const ValueId mask = cast(step, is_it, ElementType::float64, "mask");
  const auto chosen = [&](ValueId of) {
    return reduce(step, "ReduceSum", step.add("Mul", {of, mask}, {}, "masked"), {0}, true, "of_axis");
  };
  if (!step.has_input(4)) return {chosen(starts), one};
  const ValueId more = step.add("Sub", {cast(step, step.input(4), ElementType::float64, "steps"), one}, {}, "more");
  return {chosen(starts), step.add("Add", {chosen(more), one}, {}, "step")};
}

/// The axes that are sliced; nothing when they are computed at run time.
std::optional<std::vector<std::int64_t>> sliced_axes(Step& step) {
  if (step.has_input(3)) return step.constant_integers(step.input(3));
  const auto count = step.sizes(step.input(1));
  if (!count || count->size() != 1) refuse_unknown("the number of starts is unknown");
  storable_count(*count);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(std::max<std::int64_t>(count->front(), 0)));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// 1 where x is negative, else 0.
ValueId if_negative(Step& step, ValueId x) {
  return cast(step, step.add("Less", {x, reals(step, {0})}, {}, "is_negative"), ElementType::float64, "if_negative");
}

/// Positions below 0 count from the end.
ValueId from_front(Step& step, ValueId position, ValueId size) {
  const ValueId added = step.add("Mul", {if_negative(step, position), size}, {}, "added");
  return step.add("Add", {position, added}, {}, "counted");
}

/// first, first + stride ... as indices; `numbers` are 0, 1 ...
ValueId spaced(Step& step, ValueId first, ValueId stride, ValueId numbers) {
  const ValueId way = step.add("Mul", {numbers, stride}, {}, "way");
  return cast(step, step.add("Add", {way, first}, {}, "real"), ElementType::int64, "positions");
}

/// Nothing is known but the axes: the positions are counted at run time, in float64, where they are exact. As the specification has it, start and
/// end are brought into [0, size] first, for a negative step into [0, size - 1] and [-1, size - 1].
void gather_counted(Step& step, const std::vector<std::int64_t>& axes) {
  if (axes.size() > checker::max_rank) refuse(fmt::format("{} axes are sliced, more than a tensor has", axes.size()));
  const ValueId ends = cast(step, step.input(2), ElementType::float64, "ends");
  const ValueId zero = reals(step, {0});
  std::vector<Link> links;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (axes[i] < 0) refuse("an axis is negative, and Slice 1 counts axes from the front");
    const AxisRange range = range_of_axis(step, axes[i], axes);
    const ValueId size = cast(step, size_vector(step, step.input(0), axes[i]), ElementType::float64, "size");
    const ValueId backward = if_negative(step, range.stride);
    const ValueId most = step.add("Sub", {size, backward}, {}, "most");
    const ValueId first = clamped(step, from_front(step, range.start, size), zero, most);
    const ValueId last = clamped(step, from_front(step, slice(step, ends, 0, at, at + 1, "end"), size),
                                 step.add("Neg", {backward}, {}, "least"), most);
    const ValueId steps = step.add("Div", {step.add("Sub", {last, first}, {}, "way"), range.stride}, {}, "steps");
    const ValueId count = step.add("Max", {step.add("Ceil", {steps}, {}, "whole"), zero}, {}, "count");
    const ValueId numbers = count_up(step, Size::of(cast(step, count, ElementType::int64, "count")));
    const ValueId counted = cast(step, numbers, ElementType::float64, "numbers");
    links.push_back({"Gather", {spaced(step, first, range.stride, counted)}, {{"axis", axes[i]}}});
  }
  if (links.empty()) links.push_back({"Identity", {}, {}});
  chain(step, step.input(0), std::move(links), step.output(0));
  step.replace();
  step.note("computed at run time: rewritten as Gather of positions that NonZero counts");
}

/// How many positions each axis gives is known, only where they start is not.
void gather_computed(Step& step) {
  const auto in = step.sizes(step.input(0)), out = promised_sizes(step, step.output(0));
  const auto axes = sliced_axes(step);
  if (!in || !out || in->size() != out->size()) {
    if (axes) return gather_counted(step, *axes);
    refuse(
        "starts, ends, axes or steps are computed at run time, but they are attributes in version 1; the sizes of the "
        "result are unknown");
  }
  std::vector<Link> links;
  const ValueId zero = reals(step, {0});
  for (std::size_t i = 0; i < in->size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const AxisRange range = range_of_axis(step, axis, axes);
    if (range.plain || (!step.has_input(4) && (*in)[i] == (*out)[i])) continue;
    const ValueId size = reals(step, {static_cast<double>((*in)[i])});
    const ValueId most = step.add("Sub", {size, if_negative(step, range.stride)}, {}, "most");
    const ValueId first = clamped(step, from_front(step, range.start, size), zero, most);
    const ValueId positions = spaced(step, first, range.stride, counted_reals(step, (*out)[i]));
    links.push_back({"Gather", {positions}, {{"axis", axis}}});
  }
  chain(step, step.input(0), std::move(links), step.output(0));
  step.replace();
  step.note("computed at run time: rewritten as Gather, because the sizes of the result are known");
}

void lists_to_attributes(Step& step) {
  const auto lists = constant_lists(step);
  if (!lists) return gather_computed(step);
  const bool steps = std::any_of(lists->steps.begin(), lists->steps.end(), [](std::int64_t s) { return s != 1; });
  return steps ? gather_steps(step, *lists) : slice_by_attributes(step, *lists);
}

/// In version 10 axes count from the front.
void axes_from_front(Step& step) {
  if (!step.has_input(3)) return;
  const auto axes = step.constant_integers(step.input(3));
  if (axes && std::all_of(axes->begin(), axes->end(), [](std::int64_t axis) { return axis >= 0; })) return;
  const auto rank = step.rank(step.input(0));
  if (axes && rank) {
    std::vector<std::int64_t> counted = *axes;
    for (std::int64_t& axis : counted) axis = axis < 0 ? axis + *rank : axis;
    ValueId value = step.vector(counted, "axes");
    if (step.need_elem(step.input(3)) == ElementType::int32) value = cast(step, value, ElementType::int32, "axes");
    return step.set_input(3, value);
  }
  const ElementType type = step.need_elem(step.input(3));
  const ValueId zero = step.number(type, 0, "zero");
  ValueId rank_value = rank_of(step, step.input(0));
  if (type != ElementType::int64) rank_value = cast(step, rank_value, type, "rank");
  const ValueId is_negative = step.add("Less", {step.input(3), zero}, {}, "is_negative");
  const ValueId counted = step.add("Add", {step.input(3), rank_value}, {}, "counted");
  step.set_input(3, step.add("Where", {is_negative, counted, step.input(3)}, {}, "axes"));
  step.note("axes made non-negative at run time");
}

}  // namespace

void register_slice(StepRegistry& registry) {
  registry.change({"Slice"}, 10, adapt("starts, ends and axes become inputs", lists_to_inputs),
                  adapt("starts, ends and axes become attributes", lists_to_attributes));
  registry.change({"Slice"}, 11, compatible("axes may also be negative"),
                  adapt("axes made non-negative", axes_from_front));
  registry.types({"Slice"}, {13});
}

}  // namespace onnxkit::opset
