// GridSample and AffineGrid: positions and weights in maps, the neighbours of all positions in one gather of pixels.
#include <algorithm>
#include <limits>

#include "libonnxkit/plan/compose.h"

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

struct SampleRules {
  bool is_nearest = false, aligns_corners = false;
  Beyond beyond = Beyond::zeros;
};

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

struct Neighbour {
  Number at, is_there;  ///< i64
};

/// The element that stands for an integral position, maybe outside of the axis; 0 where none does.
Neighbour element_for(Expression& e, Number at, std::int64_t size, const SampleRules& rules) {
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const auto last = static_cast<double>(size - 1);
  const Number is_inside = e.apply(Operation::logical_and, e.apply(Operation::less_or_equal, number(0), at),
                                   e.apply(Operation::less_or_equal, at, number(last)));
  const auto within = [&](Number x) {
    return e.apply(Operation::minimum, e.apply(Operation::maximum, x, number(0)), number(last));
  };
  Number is_there = is_inside, place = at;
  if (rules.beyond != Beyond::zeros) {
    const Number distance = e.apply(Operation::absolute, at);
    is_there = e.apply(Operation::less, distance, number(std::numeric_limits<double>::infinity()));
    if (rules.beyond == Beyond::reflection) {
      // Mirrors are the centres of the outer elements, or their outer edges.
      const double low = rules.aligns_corners ? 0 : -0.5, span = rules.aligns_corners ? last : last + 1;
      if (span == 0) {
        place = number(0);
      } else {
        const Number from_low = e.apply(Operation::absolute, e.apply(Operation::subtract, at, number(low)));
        const Number rest = e.apply(Operation::floating_modulo, from_low, number(2 * span));
        const Number turned = e.apply(Operation::minimum, rest, e.apply(Operation::subtract, number(2 * span), rest));
        const Number mirrored = within(e.apply(Operation::add, number(low), turned));
        place = e.apply(Operation::select, is_inside, at, mirrored);
      }
    } else {
      place = within(at);
    }
  }
  place = e.apply(Operation::select, is_there, place, number(0));
  return {e.convert(place, Lane::i64), is_there};
}

struct SampledImage {
  View pixels;           ///< [n * h * w + 1, c], zeros in the last row
  Dims sizes;            ///< h, w, or of more or fewer axes
  View grid;             ///< [n, points, axes], the innermost axis first
  std::int64_t corners;  ///< neighbours along an axis
  SampleRules rules;

  std::size_t axes() const { return sizes.size(); }
};

enum class Found : std::uint8_t { place, weight };

/// Of each neighbour [corners, corners, ..., n, points] its pixel, the one behind all of them where there is none, or its weight.
View of_neighbours(LowerCall& call, const SampledImage& image, Found what) {
  const Dims points = {image.grid.dims[0], image.grid.dims[1]};
  Dims dims(image.axes(), image.corners);
  dims.insert(dims.end(), points.begin(), points.end());
  Expression e;
  std::vector<View> inputs;
  const auto next = [&](const View& view) {
    inputs.push_back(view);
    return e.convert(e.input(inputs.size() - 1, lane_of(view.type)),
                     what == Found::place && lane_of(view.type) == Lane::i64 ? Lane::i64 : Lane::f64);
  };
  std::optional<Number> result;
  if (what == Found::place) result = next(positions_along(call, dims, image.axes()));
  std::optional<Number> are_there;
  for (std::size_t axis = 0; axis < image.axes(); ++axis) {
    const View coordinate = picked(image.grid, 2, static_cast<std::int64_t>(image.axes() - 1 - axis));
    const Number at = among_elements(e, next(coordinate), image.sizes[axis], image.rules);
    const bool is_nearest = image.rules.is_nearest;
    const Number first = e.apply(is_nearest ? Operation::round_half_even : Operation::floor, at);
    std::optional<Number> corner;
    if (!is_nearest) {
      inputs.push_back(positions_along(call, dims, axis));
      corner = e.convert(e.input(inputs.size() - 1, Lane::i64), Lane::f64);
    }
    Number term = 0;
    if (what == Found::weight) {
      const Number rest = e.apply(Operation::subtract, at, first), one = e.constant(Lane::f64, 1);
      const Number is_low = e.apply(Operation::equal, *corner, e.constant(Lane::f64, 0));
      term = e.apply(Operation::select, is_low, e.apply(Operation::subtract, one, rest), rest);
      result = result ? e.apply(Operation::multiply, *result, term) : term;
      continue;
    }
    const Neighbour found =
        element_for(e, corner ? e.apply(Operation::add, first, *corner) : first, image.sizes[axis], image.rules);
    are_there = are_there ? e.apply(Operation::logical_and, *are_there, found.is_there) : found.is_there;
    const Number scaled = e.apply(Operation::multiply, *result, e.integer(image.sizes[axis]));
    result = e.apply(Operation::add, scaled, found.at);
  }
  if (what == Found::place) e.apply(Operation::select, *are_there, *result, e.integer(image.pixels.dims[0] - 1));
  const ElementType stored = what == Found::place ? ElementType::int64 : wide_type(image.pixels.type);
  if (what == Found::weight) e.convert(*result, lane_of(stored));
  return mapped(call, e, std::move(inputs), stored, dims);
}

/// 512 MiB of gathered neighbours.
constexpr std::int64_t most_sampled = std::int64_t{1} << 27;

SampleRules rules_of(const LowerCall& call) {
  const auto beyond = call.string("padding_mode");
  return {.is_nearest = call.string("mode") == "nearest",
          .aligns_corners = call.integer("align_corners") != 0,
          .beyond = beyond == "border"       ? Beyond::border
                    : beyond == "reflection" ? Beyond::reflection
                                             : Beyond::zeros};
}

Unlowered unsampled(LowerCall& call, const View& x, const View& grid) {
  const auto mode = call.string("mode");
  if (mode == "cubic" || mode == "bicubic") return "cubic samples have many neighbours";
  if (!has_lane(x.type) || !has_lane(grid.type)) return "elements cannot be computed";
  if (mode != "nearest" && lane_of(x.type) == Lane::i64) return "only for real numbers";
  if (x.rank() < 3 || x.rank() > 5 || x.size() == 0 || element_count(call.output_dims(0)) == 0)
    return "without elements or of many axes";
  if (grid.rank() != x.rank() || grid.dims[0] != x.dims[0] ||
      grid.dims.back() != static_cast<std::int64_t>(x.rank()) - 2)
    return "the grid does not fit";
  return std::nullopt;
}

/// As SampledImage has them.
View pixels_of(LowerCall& call, const View& x) {
  const std::int64_t channels = x.dims[1], count = x.size() / channels;
  Dims last = {0};
  for (std::size_t i = 2; i < x.rank(); ++i) last.push_back(static_cast<std::int64_t>(i));
  last.push_back(1);
  const View turned = permuted(x, last), pixels = call.make(x.type, {count + 1, channels});
  call.emit_copy(turned, reshaped(sliced(pixels, 0, 0, 1, count), turned.dims));
  fill(call, sliced(pixels, 0, count, 1, 1), 0);
  return pixels;
}

/// The sum of taps [corners, n, points, c] by the weights of their neighbours.
View weighted_sum(LowerCall& call, const SampledImage& image, const View& taps) {
  Dims each = taps.dims;
  each.back() = 1;
  const View weights = reshaped(of_neighbours(call, image, Found::weight), each);
  Expression e;
  std::vector<View> inputs;
  const auto next = [&](const View& view, std::int64_t tap) {
    inputs.push_back(picked(view, 0, tap));
    return e.input(inputs.size() - 1, lane_of(view.type));
  };
  std::optional<Number> sum;
  for (std::int64_t tap = 0; tap < taps.dims[0]; ++tap) {
    const Number value = next(taps, tap);
    const Number part = e.apply(Operation::multiply, value, next(weights, tap));
    sum = sum ? e.apply(Operation::add, *sum, part) : part;
  }
  return mapped(call, e, std::move(inputs), taps.type, Dims(taps.dims.begin() + 1, taps.dims.end()));
}

Unlowered lower_grid_sample(LowerCall& call) {
  const View x = call.input(0), grid = call.input(1);
  if (auto reason = unsampled(call, x, grid)) return reason;
  const Dims out = call.output_dims(0);
  const std::int64_t batches = x.dims[0], channels = x.dims[1], points = element_count(std::span(out).subspan(2));
  SampledImage image;
  image.rules = rules_of(call);
  image.corners = image.rules.is_nearest ? 1 : 2;
  image.sizes.assign(x.dims.begin() + 2, x.dims.end());
  const std::int64_t corners = image.rules.is_nearest ? 1 : std::int64_t{1} << image.axes();
  const std::int64_t rows = corners * batches * points;
  if (rows > most_sampled / channels) return "there would be many neighbours";
  image.pixels = pixels_of(call, x);
  image.grid = reshaped_or_copied(call, grid, {batches, points, grid.dims.back()});
  const View places = of_neighbours(call, image, Found::place);
  const View gathered = call.make(x.type, {1, rows, channels});
  Dims pixels = image.pixels.dims;
  pixels.insert(pixels.begin(), 1);
  call.emit(gather_step, {reshaped(image.pixels, pixels), reshaped(places, {rows})}, {gathered});
  const View taps = reshaped(gathered, {corners, batches, points, channels});
  const View sampled =
      image.rules.is_nearest ? reshaped(taps, {batches, points, channels}) : weighted_sum(call, image, taps);
  Dims shown = {batches};
  shown.insert(shown.end(), out.begin() + 2, out.end());
  shown.push_back(channels);
  Dims second = {0, static_cast<std::int64_t>(x.rank()) - 1};
  for (std::size_t i = 1; i + 1 < x.rank(); ++i) second.push_back(static_cast<std::int64_t>(i));
  call.set_output(
      0, stored_as(call, permuted(reshaped(sampled, shown), second), LowerCall::stored_type(call.output_type(0))));
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
