#include "libonnxkit/plan/samples.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

View part_of_taps(LowerCall& call, std::int64_t count, std::span<const View> coordinates, const Dims& points,
                  ElementType stored, const WriteTap& write, TapPart part) {
  Dims dims = {count};
  dims.insert(dims.end(), points.begin(), points.end());
  Expression e;
  std::vector<View> inputs;
  std::vector<Number> numbers;
  for (const View& view : coordinates) {
    numbers.push_back(e.convert(e.input(inputs.size(), lane_of(view.type)), Lane::f64));
    inputs.push_back(broadcast_to(view, dims));
  }
  const Number tap = e.input(inputs.size(), Lane::i64);
  inputs.push_back(positions_along(call, dims, 0));
  e.convert(write(e, numbers, tap, part), lane_of(stored));
  return mapped(call, e, std::move(inputs), stored, std::move(dims));
}

/// [1, ..., taps, ..., 1, points...] among the taps of so many axes, repeated to `dims`.
View among_taps(const View& taps, std::size_t axis, std::size_t axes, const Dims& dims) {
  Dims own(axes, 1);
  own[axis] = taps.dims[0];
  own.insert(own.end(), taps.dims.begin() + 1, taps.dims.end());
  return broadcast_to(reshaped(taps, std::move(own)), dims);
}

Dims joined_dims(std::span<const Taps> axes, const SampledPoints& points) {
  Dims dims;
  for (const Taps& taps : axes) dims.push_back(taps.places.dims[0]);
  dims.insert(dims.end(), points.dims.begin(), points.dims.end());
  return dims;
}

/// [taps of all axes, points...] of what has an axis for each.
View with_joined_taps(const View& view, const Dims& points) {
  Dims dims = {view.size() / element_count(points)};
  dims.insert(dims.end(), points.begin(), points.end());
  return reshaped(view, std::move(dims));
}

View joined_weights(LowerCall& call, std::span<const Taps> axes, const SampledPoints& points) {
  if (axes.size() == 1 && !points.factor && axes[0].weights.dims == joined_dims(axes, points)) return axes[0].weights;
  const Dims dims = joined_dims(axes, points);
  const ElementType stored = axes[0].weights.type;
  Expression e;
  std::vector<View> inputs;
  std::optional<Number> product;
  const auto multiply_by = [&](View view) {
    const Number factor = e.convert(e.input(inputs.size(), lane_of(view.type)), lane_of(stored));
    product = product ? e.apply(Operation::multiply, *product, factor) : factor;
    inputs.push_back(std::move(view));
  };
  for (std::size_t i = 0; i < axes.size(); ++i) multiply_by(among_taps(axes[i].weights, i, axes.size(), dims));
  if (points.factor) multiply_by(broadcast_to(*points.factor, dims));
  return with_joined_taps(mapped(call, e, std::move(inputs), stored, dims), points.dims);
}

/// [taps, outer, points...] as a weighted gather reads them: [outer, points, taps].
View by_points(const View& view, std::int64_t outer) {
  const std::int64_t taps = view.dims[0];
  constexpr std::int64_t last[] = {1, 2, 0};
  return permuted(reshaped(view, {taps, outer, view.size() / (taps * outer)}), last);
}

}  // namespace

Taps taps_along(LowerCall& call, std::int64_t size, std::int64_t count, std::span<const View> coordinates,
                const Dims& points, ElementType weight, const WriteTap& write) {
  return {size, part_of_taps(call, count, coordinates, points, ElementType::int64, write, TapPart::place),
          part_of_taps(call, count, coordinates, points, weight, write, TapPart::weight)};
}

Number linear_weight(Expression& e, Number rest, Number is_low) {
  return e.apply(Operation::select, is_low, e.apply(Operation::subtract, e.constant(Lane::f64, 1), rest), rest);
}

View joined_places(LowerCall& call, std::span<const Taps> axes, const SampledPoints& points) {
  if (axes.size() == 1 && !points.first && axes[0].places.dims == joined_dims(axes, points)) return axes[0].places;
  const Dims dims = joined_dims(axes, points);
  Expression e;
  std::vector<View> inputs;
  const auto next = [&](View view) {
    inputs.push_back(std::move(view));
    return e.input(inputs.size() - 1, Lane::i64);
  };
  std::optional<Number> place, is_none, is_any;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Number own = next(among_taps(axes[i].places, i, axes.size(), dims));
    const auto add_to = [&](std::optional<Number>& all, Number one) {
      all = all ? e.apply(Operation::logical_or, *all, one) : one;
    };
    add_to(is_none, e.apply(Operation::less, own, e.integer(0)));
    add_to(is_any, e.apply(Operation::less, own, e.integer(-1)));
    place = place ? e.apply(Operation::add, e.apply(Operation::multiply, *place, e.integer(axes[i].size)), own) : own;
  }
  Number row = e.apply(Operation::select, *is_any, e.integer(0), *place);
  is_none = e.apply(Operation::logical_and, *is_none, e.apply(Operation::logical_not, *is_any));
  if (points.first) {
    const Number first = next(broadcast_to(*points.first, dims));
    const Number found = e.apply(Operation::select, *is_none, e.integer(-1), e.apply(Operation::add, row, first));
    e.apply(Operation::select, e.apply(Operation::less, first, e.integer(points.rows)), found, e.integer(points.rows));
  } else {
    e.apply(Operation::select, *is_none, e.integer(-1), row);
  }
  return with_joined_taps(mapped(call, e, std::move(inputs), ElementType::int64, dims), points.dims);
}

void sample_rows(LowerCall& call, const View& data, std::span<const Taps> axes, const SampledPoints& points,
                 const View& output, bool takes_greatest) {
  WeightedGatherParameters parameters;
  parameters.takes_greatest = takes_greatest;
  const std::int64_t outer = data.dims[0];
  call.emit(
      weighted_gather_step,
      {data, by_points(joined_places(call, axes, points), outer), by_points(joined_weights(call, axes, points), outer)},
      {output}, parameters);
}

View rows_of_pixels(LowerCall& call, const View& images) {
  const View turned = permuted(images, channels_behind);
  const std::int64_t channels = images.dims[1];
  return reshaped(images.has_channels_last() ? turned : call.contiguous(turned),
                  {1, images.size() / channels, channels});
}

Unlowered many_taps(std::int64_t taps, std::int64_t points) {
  constexpr std::int64_t most = std::int64_t{1} << 26;  // a GiB of places and weights
  if (taps < 1 || points > most / taps) return "there would be many neighbours";
  return std::nullopt;
}

}  // namespace onnxkit::plan
