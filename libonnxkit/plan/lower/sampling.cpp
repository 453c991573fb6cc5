// GridSample and AffineGrid: the elements that positions take, and their weights, in maps; sums of pixels by weights.
#include <limits>

#include "libonnxkit/plan/samples.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

// ---- AffineGrid

/// With align_corners the outer elements lie at -1 and 1, else their outer edges do.
double grid_position(std::int64_t i, std::int64_t size, bool aligns_corners) {
  const auto at = static_cast<double>(i), count = static_cast<double>(size);
  if (!aligns_corners) return (2 * at + 1) / count - 1;
  return size == 1 ? -1 : 2 * at / (count - 1) - 1;
}

/// The positions along one axis of the image, for a map over [n, image].
View grid_positions(LowerCall& call, const Dims& dims, std::size_t axis, bool aligns_corners) {
  const std::int64_t size = dims[axis + 1];
  call.spend_on_tables(size, sizeof(float));
  std::vector<float> positions;
  for (std::int64_t i = 0; i < size; ++i)
    positions.push_back(static_cast<float>(grid_position(i, size, aligns_corners)));
  return broadcast_to(call.constant(positions, along_axis(dims.size(), axis + 1, size)), dims);
}

/// Each coordinate is a sum of the positions along all axes, the innermost first in theta, times numbers of theta.
Unlowered lower_affine_grid(LowerCall& call) {
  if (!is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  const auto size = call.constant_integers(1);
  if (!size) return "the size is not constant";
  const View theta = call.as_real(call.input(0));
  if ((size->size() != 4 && size->size() != 5) || theta.rank() != 3) return "operands of other forms";
  const std::size_t axes = size->size() - 2;
  const auto count = static_cast<std::int64_t>(axes);
  const Dims out = call.output_dims(0);
  if (theta.dims != Dims{(*size)[0], count, count + 1} || element_count(out) == 0) return "operands of other forms";
  const bool aligns_corners = call.integer("align_corners") != 0;
  const Dims dims(out.begin(), out.end() - 1);
  const View grid = call.make(theta.type, out);
  for (std::size_t coordinate = 0; coordinate < axes; ++coordinate) {
    Expression e;
    std::vector<View> inputs;
    const auto next = [&](const View& view) {
      inputs.push_back(view);
      return e.input(inputs.size() - 1, lane_of(view.type));
    };
    const auto of_theta = [&](std::size_t column) {
      const View one =
          picked(picked(theta, 1, static_cast<std::int64_t>(coordinate)), 1, static_cast<std::int64_t>(column));
      return next(broadcast_to(reshaped_or_copied(call, one, along_axis(dims.size(), 0, dims[0])), dims));
    };
    Number sum = of_theta(axes);
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const Number position = next(grid_positions(call, dims, axis, aligns_corners));
      sum = e.apply(Operation::add, e.apply(Operation::multiply, position, of_theta(axes - 1 - axis)), sum);
    }
    call.emit_map(e, std::move(inputs), picked(grid, out.size() - 1, static_cast<std::int64_t>(coordinate)));
  }
  call.set_output(0, grid);
  return std::nullopt;
}

// ---- GridSample

enum class Beyond : std::uint8_t { zeros, border, reflection };

enum class SampleMode : std::uint8_t { nearest, linear, cubic };

struct SampleRules {
  SampleMode mode = SampleMode::linear;
  bool aligns_corners = false;
  Beyond beyond = Beyond::zeros;
  double any_place = 0;  ///< for coordinates that are not finite, as Taps say it where there are further axes
};

/// Along one axis.
std::int64_t taps_of(SampleMode mode) { return mode == SampleMode::nearest ? 1 : mode == SampleMode::linear ? 2 : 4; }

Number is_finite(Expression& e, Number x) {
  return e.apply(Operation::less, e.apply(Operation::absolute, x),
                 e.constant(Lane::f64, std::numeric_limits<double>::infinity()));
}

/// From -1 to 1 as a position among `size` elements.
Number among_elements(Expression& e, Number normalized, std::int64_t size, const SampleRules& rules) {
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const auto count = static_cast<double>(size);
  const Number shifted = e.apply(Operation::add, normalized, number(1));
  if (rules.aligns_corners)
    return e.apply(Operation::multiply, e.apply(Operation::divide, shifted, number(2)), number(count - 1));
  const Number scaled = e.apply(Operation::multiply, shifted, number(count));
  return e.apply(Operation::divide, e.apply(Operation::subtract, scaled, number(1)), number(2));
}

/// The element that stands for an integral position, maybe outside of the axis; -1 where none does.
Number element_for(Expression& e, Number at, std::int64_t size, const SampleRules& rules) {
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const auto last = static_cast<double>(size - 1);
  const Number is_inside = e.apply(Operation::logical_and, e.apply(Operation::less_or_equal, number(0), at),
                                   e.apply(Operation::less_or_equal, at, number(last)));
  if (rules.beyond == Beyond::zeros) return e.apply(Operation::select, is_inside, at, number(-1));
  const auto within = [&](Number x) {
    return e.apply(Operation::minimum, e.apply(Operation::maximum, x, number(0)), number(last));
  };
  Number place = within(at);
  if (rules.beyond == Beyond::reflection) {
    // Mirrors are the centres of the outer elements, or their outer edges.
    const double low = rules.aligns_corners ? 0 : -0.5, span = rules.aligns_corners ? last : last + 1;
    if (span == 0) {
      place = number(0);
    } else {
      const Number from_low = e.apply(Operation::absolute, e.apply(Operation::subtract, at, number(low)));
      const Number rest = e.apply(Operation::floating_modulo, from_low, number(2 * span));
      const Number turned = e.apply(Operation::minimum, rest, e.apply(Operation::subtract, number(2 * span), rest));
      place = e.apply(Operation::select, is_inside, at, within(e.apply(Operation::add, number(low), turned)));
    }
  }
  return e.apply(Operation::select, is_finite(e, at), place, number(-1));
}

/// What Keys' cubic convolution with a = -0.75 gives to the elements at distances 1 + t, t, 1 - t and 2 - t.
Number cubic_weight(Expression& e, Number t, Number tap) {
  constexpr double a = -0.75;
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const Number x =
      e.apply(Operation::absolute, e.apply(Operation::subtract, t, e.apply(Operation::subtract, tap, number(1))));
  const auto polynomial = [&](double cube, double square, double linear, double constant) {
    Number sum = e.apply(Operation::add, e.apply(Operation::multiply, number(cube), x), number(square));
    sum = e.apply(Operation::add, e.apply(Operation::multiply, sum, x), number(linear));
    return e.apply(Operation::add, e.apply(Operation::multiply, sum, x), number(constant));
  };
  const Number near = polynomial(a + 2, -(a + 3), 0, 1), far = polynomial(a, -5 * a, 8 * a, -4 * a);
  const Number is_near = e.apply(Operation::logical_and, e.apply(Operation::less_or_equal, number(1), tap),
                                 e.apply(Operation::less_or_equal, tap, number(2)));
  return e.apply(Operation::select, is_near, near, far);
}

/// The taps of a point along one axis. Beyond all numbers the place is any, since the weight is NaN.
Number write_grid_tap(Expression& e, Number coordinate, Number number_of_tap, TapPart part, std::int64_t size,
                      const SampleRules& rules) {
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const Number at = among_elements(e, coordinate, size, rules);
  if (rules.mode == SampleMode::nearest) {
    if (part == TapPart::weight) return number(1);
    return element_for(e, e.apply(Operation::round_half_even, at), size, rules);
  }
  const Number tap = e.convert(number_of_tap, Lane::f64), low = e.apply(Operation::floor, at);
  if (part == TapPart::place) {
    const Number first = rules.mode == SampleMode::cubic ? e.apply(Operation::subtract, low, number(1)) : low;
    const Number element = element_for(e, e.apply(Operation::add, first, tap), size, rules);
    return e.apply(Operation::select, is_finite(e, at), element, number(rules.any_place));
  }
  const Number rest = e.apply(Operation::subtract, at, low);
  if (rules.mode == SampleMode::cubic) return cubic_weight(e, rest, tap);
  return linear_weight(e, rest, e.apply(Operation::equal, tap, number(0)));
}

SampleRules rules_of(const LowerCall& call) {
  const auto mode = call.string("mode"), beyond = call.string("padding_mode");
  return {.mode = mode == "nearest"                      ? SampleMode::nearest
                  : mode == "cubic" || mode == "bicubic" ? SampleMode::cubic
                                                         : SampleMode::linear,
          .aligns_corners = call.integer("align_corners") != 0,
          .beyond = beyond == "border"       ? Beyond::border
                    : beyond == "reflection" ? Beyond::reflection
                                             : Beyond::zeros};
}

Unlowered unsampled(LowerCall& call, const View& x, const View& grid, const SampleRules& rules) {
  if (!has_lane(x.type) || !has_lane(grid.type)) return "elements cannot be computed";
  if (rules.mode != SampleMode::nearest && lane_of(x.type) == Lane::i64) return "only for real numbers";
  if (x.rank() < 3 || x.rank() > 5 || x.size() == 0 || element_count(call.output_dims(0)) == 0)
    return "without elements or of many axes";
  if (grid.rank() != x.rank() || grid.dims[0] != x.dims[0] ||
      grid.dims.back() != static_cast<std::int64_t>(x.rank()) - 2)
    return "the grid does not fit";
  std::int64_t taps = 1;
  for (std::size_t i = 2; i < x.rank(); ++i) taps *= taps_of(rules.mode);
  return many_taps(taps, grid.size() / grid.dims.back());
}

/// Pixels of an image [n, c, ...] as rows [n, pixels, c]: where they lie, or copied where that is faster.
View pixels_of(LowerCall& call, const View& x, bool copies) {
  Dims order = {0};
  for (std::size_t i = 2; i < x.rank(); ++i) order.push_back(static_cast<std::int64_t>(i));
  order.push_back(1);
  const View turned = permuted(x, order);
  const Dims dims = {x.dims[0], x.size() / (x.dims[0] * x.dims[1]), x.dims[1]};
  if (!copies)
    if (auto rows = try_reshaped(turned, dims)) return *rows;
  return reshaped(call.contiguous(turned), dims);
}

/// Of integers and the like, which are taken as they are: with a row of zeros for what is outside.
View nearest_pixels(LowerCall& call, const View& pixels, const View& places) {
  const std::int64_t batches = pixels.dims[0], rows = pixels.dims[1], channels = pixels.dims[2];
  const View all = call.make(pixels.type, {batches * rows + 1, channels});
  call.emit_copy(pixels, reshaped(sliced(all, 0, 0, 1, batches * rows), pixels.dims));
  fill(call, sliced(all, 0, batches * rows, 1, 1), 0);
  const Dims dims = {batches, places.size() / batches};
  Expression e;
  const Number place = e.input(0, Lane::i64), batch = e.input(1, Lane::i64);
  const Number row = e.apply(Operation::add, e.apply(Operation::multiply, batch, e.integer(rows)), place);
  e.apply(Operation::select, e.apply(Operation::less, place, e.integer(0)), e.integer(batches * rows), row);
  const View from = mapped(call, e, {reshaped(places, dims), positions_along(call, dims, 0)}, ElementType::int64, dims);
  const View result = call.make(pixels.type, {1, from.size(), channels});
  call.emit(gather_step, {reshaped(all, {1, batches * rows + 1, channels}), reshaped(from, {from.size()})}, {result});
  return reshaped(result, {batches, dims[1], channels});
}

/// [n, points, c] of what was sampled, as the output [n, c, ...].
void give_sampled(LowerCall& call, const View& sampled) {
  const Dims out = call.output_dims(0);
  constexpr std::int64_t points_behind[] = {0, 2, 1};
  call.set_output(
      0, stored_as(call, reshaped(permuted(sampled, points_behind), out), LowerCall::stored_type(call.output_type(0))));
}

Unlowered lower_grid_sample(LowerCall& call) {
  const View x = call.input(0), grid = call.input(1);
  SampleRules rules = rules_of(call);
  if (x.rank() > 3) rules.any_place = -2;
  if (auto reason = unsampled(call, x, grid, rules)) return reason;
  const std::int64_t batches = x.dims[0], channels = x.dims[1], count = grid.size() / (batches * grid.dims.back());
  const bool is_real = lane_of(x.type) != Lane::i64;
  const ElementType type = is_real ? wide_type(x.type) : x.type;
  const SampledPoints points{.dims = {batches, count}};
  const View coordinates = reshaped_or_copied(call, grid, {batches, count, grid.dims.back()});
  std::vector<Taps> axes;
  for (std::size_t axis = 0; axis + 2 < x.rank(); ++axis) {
    const std::int64_t size = x.dims[axis + 2];
    const View own[] = {picked(coordinates, 2, static_cast<std::int64_t>(x.rank() - 3 - axis))};
    axes.push_back(taps_along(call, size, taps_of(rules.mode), own, points.dims, is_real ? type : ElementType::float32,
                              [&](Expression& e, std::span<const Number> of, Number tap, TapPart part) {
                                return write_grid_tap(e, of[0], tap, part, size, rules);
                              }));
  }
  constexpr std::int64_t few_channels = 8;  // whose numbers are sampled where they lie
  const bool is_planar = is_real && channels <= few_channels && !x.has_channels_last();
  const View pixels = pixels_of(call, stored_as(call, x, type), !is_planar && !x.has_channels_last());
  if (!is_real) {
    give_sampled(call, nearest_pixels(call, pixels, joined_places(call, axes, points)));
    return std::nullopt;
  }
  constexpr std::int64_t planes_behind[] = {0, 2, 1};
  const View result = is_planar ? permuted(call.make(type, {batches, channels, count}), planes_behind)
                                : call.make(type, {batches, count, channels});
  sample_rows(call, pixels, axes, points, result);
  give_sampled(call, result);
  return std::nullopt;
}

}  // namespace

void register_sampling(LoweringRegistry& registry);
void register_sampling(LoweringRegistry& registry) {
  registry.add("AffineGrid", all_versions(), lower_affine_grid);
  registry.add("GridSample", all_versions(), lower_grid_sample);
  registry.add("com.microsoft", "GridSample", all_versions(), lower_grid_sample);
}

}  // namespace onnxkit::plan
