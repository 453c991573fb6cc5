// com.microsoft CropAndResize: regions of pictures brought to one size, their corners being shares of the picture.
#include "libonnxkit/plan/samples.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// Line i of `lines` from one corner of a region to the other, among `size` lines: of[2] is i.
Number crop_position(Expression& e, std::span<const Number> of, std::int64_t size, std::int64_t lines) {
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const Number most = number(static_cast<double>(size - 1));
  if (lines == 1) {
    const Number half = e.apply(Operation::multiply, number(0.5), e.apply(Operation::add, of[0], of[1]));
    return e.apply(Operation::multiply, half, most);
  }
  const Number length = e.apply(Operation::multiply, of[2], e.apply(Operation::subtract, of[1], of[0]));
  const Number share =
      e.apply(Operation::divide, e.apply(Operation::multiply, length, most), number(static_cast<double>(lines - 1)));
  return e.apply(Operation::add, e.apply(Operation::multiply, of[0], most), share);
}

/// The line nearest to it, half a line further for those in the middle; or the two around it. Outside of the picture there is none.
Number write_crop_tap(Expression& e, Number at, Number tap, TapPart part, std::int64_t size, bool is_nearest) {
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const Number low = e.apply(Operation::floor, at), rest = e.apply(Operation::subtract, at, low);
  const Number is_first = e.apply(Operation::equal, tap, e.integer(0));
  if (part == TapPart::weight) {
    if (is_nearest) return number(1);
    return linear_weight(e, rest, is_first);
  }
  const Number is_inside = e.apply(Operation::logical_and, e.apply(Operation::less_or_equal, number(0), at),
                                   e.apply(Operation::less_or_equal, at, number(static_cast<double>(size - 1))));
  const Number is_low = is_nearest ? e.apply(Operation::less, rest, number(0.5)) : is_first;
  const Number high = is_nearest ? e.apply(Operation::add, low, number(1)) : e.apply(Operation::ceiling, at);
  return e.apply(Operation::select, is_inside, e.apply(Operation::select, is_low, low, high), number(-1));
}

/// The lines of the result along an axis of the picture. The points are [regions, lines, columns], of which one is 1 here.
Taps crop_taps(LowerCall& call, std::size_t axis, const Dims& out, ElementType weight, bool is_nearest) {
  const std::int64_t size = call.input_dims(0)[2 + axis], lines = out[2 + axis];
  Dims points = {out[0], 1, 1};
  points[1 + axis] = lines;
  const auto corner = [&](std::size_t end) {
    const View column = picked(call.input(1), 1, static_cast<std::int64_t>(axis + 2 * end));
    return broadcast_to(reshaped_or_copied(call, column, {out[0], 1, 1}), points);
  };
  const View coordinates[] = {corner(0), corner(1), positions_along(call, points, 1 + axis)};
  return taps_along(call, size, is_nearest ? 1 : 2, coordinates, points, weight,
                    [&](Expression& e, std::span<const Number> of, Number tap, TapPart part) {
                      const Number at = crop_position(e, of, size, lines);
                      return write_crop_tap(e, at, tap, part, size, is_nearest);
                    });
}

/// The row where the picture of each region begins; behind all rows for a picture that is not there.
View picture_rows(LowerCall& call, std::int64_t regions) {
  const Dims& x = call.input_dims(0);
  const std::int64_t each = x[2] * x[3];
  Expression e;
  const Number picture = e.input(0, Lane::i64);
  const Number is_there = is_among(e, picture, x[0]);
  e.apply(Operation::select, is_there, e.apply(Operation::multiply, picture, e.integer(each)), e.integer(x[0] * each));
  return mapped(call, e, {reshaped_or_copied(call, call.input(2), {regions, 1, 1})}, ElementType::int64,
                {regions, 1, 1});
}

/// `result` [regions, rows, columns, channels] with the number for what lies outside.
View with_outside(LowerCall& call, const View& result, const Taps& rows, const Taps& columns, double outside) {
  const Lane lane = lane_of(result.type);
  Expression e;
  const auto is_outside = [&](std::size_t input) {
    return e.apply(Operation::less, e.input(input, Lane::i64), e.integer(0));
  };
  const Number is_no_point = e.apply(Operation::logical_or, is_outside(1), is_outside(2));
  e.apply(Operation::select, is_no_point, e.constant(lane, outside), e.input(0, lane));
  const auto first_places = [&](const Taps& taps) {
    Dims dims(taps.places.dims.begin() + 1, taps.places.dims.end());
    dims.push_back(1);
    return reshaped_or_copied(call, picked(taps.places, 0, 0), dims);
  };
  return mapped(call, e, {result, first_places(rows), first_places(columns)}, result.type, result.dims);
}

Unlowered lower_crop_and_resize(LowerCall& call) {
  const View x = call.input(0), regions = call.input(1);
  const Dims out = call.output_dims(0);
  if (x.rank() != 4 || regions.rank() != 2 || regions.dims[1] != 4 || call.input(2).size() != regions.dims[0])
    return "operands of other forms";
  if (x.size() == 0 || element_count(out) == 0) return "without elements";
  if (out.size() != 4 || out[0] != regions.dims[0] || out[1] != x.dims[1]) return "operands of other forms";
  SampledPoints points{.dims = {out[0], out[2], out[3]}};
  if (auto reason = many_taps(16, element_count(points.dims))) return reason;
  const ElementType type = wide_type(x.type);
  const std::int64_t channels = x.dims[1];
  points.rows = x.dims[0] * x.dims[2] * x.dims[3];
  points.first = picture_rows(call, out[0]);
  const View pixels = rows_of_pixels(call, stored_as(call, x, type));
  const bool is_nearest = call.string("mode") == "nearest";
  const Taps taps[] = {crop_taps(call, 0, out, type, is_nearest), crop_taps(call, 1, out, type, is_nearest)};
  const View result = call.make(type, {1, element_count(points.dims), channels});
  sample_rows(call, pixels, taps, points, result);
  View crops = reshaped(result, {out[0], out[2], out[3], channels});
  const auto outside = static_cast<double>(call.real("extrapolation_value"));
  if (outside != 0) crops = with_outside(call, crops, taps[0], taps[1], outside);
  call.set_output(0, stored_as(call, permuted(crops, channels_second), LowerCall::stored_type(call.output_type(0))));
  return std::nullopt;
}

}  // namespace

void register_crop_and_resize(LoweringRegistry& registry);
void register_crop_and_resize(LoweringRegistry& registry) {
  registry.add("com.microsoft", "CropAndResize", all_versions(), lower_crop_and_resize);
}

}  // namespace onnxkit::plan
