#include "converters/formats/aten/run_time_axes.h"

namespace onnxkit::aten {
namespace {

/// The booleans as int64, one behind the other.
ValueId flags_of(WriteCall& call, const RunTimeAxes& axes) {
  const Type flags = Type::tensor(ElementType::int64, {Dim(static_cast<Int>(axes.hits.size()))});
  std::vector<ValueId> parts;
  for (const ValueId hit : axes.hits) parts.push_back(cast(call, reshape(call, hit, {Dim(1)}), ElementType::int64));
  return concat(call, parts, 0, flags);
}

Given::Mixed items(WriteCall& call, ValueId sizes, std::size_t count) {
  Given::Mixed arguments;
  for (std::size_t i = 0; i < count; ++i)
    arguments.emplace_back(item(call, select(call, sizes, 0, static_cast<Int>(i)), Dim()));
  return arguments;
}

}  // namespace

RunTimeAxes run_time_axes(WriteCall& call, std::size_t input, std::size_t rank) {
  RunTimeAxes axes;
  const Shape* shape = call.shape(input);
  const auto count = shape && shape->empty() ? std::optional<Int>(1) : call.size(input, 0);
  if (!count) {
    call.refuse("how many axes it is given while the model runs is not known", "make them constant");
    return axes;
  }
  axes.count = static_cast<std::size_t>(*count);
  const ValueId asked = call.input(input);
  const Type one = Type::tensor(ElementType::boolean, {});
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const double place = static_cast<double>(axis), from_end = place - static_cast<double>(rank);
    const ValueId is_axis = compare_number(call, "aten.eq.Scalar", asked, place);
    const ValueId is_axis_from_end = compare_number(call, "aten.eq.Scalar", asked, from_end);
    const ValueId either = binary(call, "aten.logical_or.default", is_axis, is_axis_from_end,
                                  with_elem(call.type(input), ElementType::boolean));
    axes.hits.push_back(call.emit("aten.any.default", {{"self", either}}, one));
  }
  return axes;
}

Given::Mixed sizes_without(WriteCall& call, const RunTimeAxes& axes, const Shape& sizes) {
  const Type places = Type::tensor(ElementType::int64, {Dim(static_cast<Int>(sizes.size()))});
  const ValueId order = call.emit_many(
      "aten.sort.stable", {{"self", flags_of(call, axes)}, {"stable", true}, {"dim", Int{0}}, {"descending", false}},
      {places, places})[1];
  const ValueId sorted = call.emit("aten.index_select.default",
                                   {{"self", sizes_tensor(call, sizes)}, {"dim", Int{0}}, {"index", order}}, places);
  return items(call, sorted, sizes.size() - std::min(axes.count, sizes.size()));
}

Given::Mixed sizes_with_ones(WriteCall& call, const RunTimeAxes& axes, const Shape& sizes) {
  const Type places = Type::tensor(ElementType::int64, {Dim(static_cast<Int>(axes.hits.size()))});
  const ValueId flags = flags_of(call, axes);
  const ValueId kept = call.emit("aten.rsub.Scalar", {{"self", flags}, {"other", Int{1}}}, places);
  const ValueId behind =
      call.emit("aten.cumsum.default", {{"self", kept}, {"dim", Int{0}}, {"dtype", ElementType::int64}}, places);
  const ValueId from = clamp(call, add_number(call, behind, -1), 0, static_cast<double>(sizes.size()));
  Shape padded = sizes;  // an axis in front has nothing to look at
  padded.emplace_back(1);
  const ValueId taken = call.emit("aten.index_select.default",
                                  {{"self", sizes_tensor(call, padded)}, {"dim", Int{0}}, {"index", from}}, places);
  const ValueId ones = call.emit("aten.ones_like.default", {{"self", taken}}, places);
  const ValueId is_one = compare_number(call, "aten.eq.Scalar", flags, 1);
  return items(call, where(call, is_one, ones, taken, places), axes.hits.size());
}

}  // namespace onnxkit::aten
