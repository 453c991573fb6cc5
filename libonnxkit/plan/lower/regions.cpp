// RoiAlign: regions of a feature map brought to one size. Samples along each axis in maps, sums of pixels by weights.
#include "libonnxkit/plan/samples.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

struct RegionRules {
  double scale = 1, shift = 0;
  bool has_least_length = false;  ///< regions are at least one pixel long
  bool is_max = false;
  std::int64_t samples = 1;  ///< of a bin, along each axis
};

Number moved(Expression& e, Number coordinate, const RegionRules& rules) {
  const Number scaled = e.apply(Operation::multiply, coordinate, e.constant(Lane::f64, rules.scale));
  return e.apply(Operation::subtract, scaled, e.constant(Lane::f64, rules.shift));
}

/// Where sample tap / 2 of a bin lies: (bin + (sample + 0.5) / samples) bins behind the start.
Number sample_position(Expression& e, std::span<const Number> of, Number tap, std::int64_t bins,
                       const RegionRules& rules) {
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const Number start = moved(e, of[0], rules), end = moved(e, of[1], rules);
  Number length = e.apply(Operation::subtract, end, start);
  if (rules.has_least_length) length = e.apply(Operation::maximum, length, number(1));
  const Number bin = e.apply(Operation::divide, length, number(static_cast<double>(bins)));
  const Number sample = e.convert(e.apply(Operation::divide, tap, e.integer(2)), Lane::f64);
  const Number step = e.apply(Operation::divide, e.apply(Operation::add, sample, number(0.5)),
                              number(static_cast<double>(rules.samples)));
  return e.apply(Operation::add, start, e.apply(Operation::multiply, e.apply(Operation::add, of[2], step), bin));
}

/// Two elements for each sample. Those of samples outside of the axis are none; to a greatest number they give 0.
Number write_region_tap(Expression& e, std::span<const Number> of, Number tap, TapPart part, std::int64_t size,
                        std::int64_t bins, const RegionRules& rules) {
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const auto count = static_cast<double>(size);
  const Number at = sample_position(e, of, tap, bins, rules);
  const Number is_inside = e.apply(Operation::logical_and, e.apply(Operation::less_or_equal, number(-1), at),
                                   e.apply(Operation::less_or_equal, at, number(count)));
  const Number within = e.apply(Operation::minimum, e.apply(Operation::maximum, at, number(0)), number(count - 1));
  const Number low = e.apply(Operation::floor, within);
  const Number side = e.convert(e.apply(Operation::modulo, tap, e.integer(2)), Lane::f64);
  if (part == TapPart::place) {
    const Number place = e.apply(Operation::minimum, e.apply(Operation::add, low, side), number(count - 1));
    return e.apply(Operation::select, is_inside, place, number(rules.is_max ? 0 : -1));
  }
  const Number rest = e.apply(Operation::subtract, within, low);
  const Number is_low = e.apply(Operation::equal, side, number(0));
  const Number weight = linear_weight(e, rest, is_low);
  if (rules.is_max) return e.apply(Operation::select, is_inside, weight, number(0));
  return e.apply(Operation::divide, weight, number(static_cast<double>(rules.samples)));
}

/// The samples of `bins` along an axis of the map. The points are [regions, rows of bins, columns of bins], of which one is 1 here.
Taps region_taps(LowerCall& call, std::size_t axis, std::int64_t size, std::int64_t bins, const RegionRules& rules,
                 ElementType weight) {
  const View rois = call.input(1);
  const std::int64_t regions = rois.dims[0];
  Dims points = {regions, 1, 1};
  points[axis + 1] = bins;
  const auto coordinate = [&](std::size_t end) {
    const auto column = static_cast<std::int64_t>(1 - axis + 2 * end);  // x comes before y
    return broadcast_to(reshaped_or_copied(call, picked(rois, 1, column), {regions, 1, 1}), points);
  };
  const View coordinates[] = {coordinate(0), coordinate(1), positions_along(call, points, axis + 1)};
  return taps_along(call, size, 2 * rules.samples, coordinates, points, weight,
                    [&](Expression& e, std::span<const Number> of, Number tap, TapPart part) {
                      return write_region_tap(e, of, tap, part, size, bins, rules);
                    });
}

/// The row of the pixels where the image of a region begins; behind them where there is no such image, or a region is out of range.
View first_pixels(LowerCall& call, const Dims& x, const RegionRules& rules) {
  const View rois = call.input(1), batches = call.input(2);
  const Dims dims = {rois.dims[0], 1, 1};
  const std::int64_t image = x[2] * x[3];
  Expression e;
  std::vector<View> inputs = {reshaped_or_copied(call, batches, dims)};
  const Number batch = e.input(0, Lane::i64);
  Number holds = is_among(e, batch, x[0]);
  for (std::int64_t i = 0; i < 4; ++i) {
    inputs.push_back(reshaped_or_copied(call, picked(rois, 1, i), dims));
    const Number at = moved(e, e.convert(e.input(inputs.size() - 1, lane_of(rois.type)), Lane::f64), rules);
    const Number is_near = e.apply(Operation::less, e.apply(Operation::absolute, at), e.constant(Lane::f64, 1e15));
    holds = e.apply(Operation::logical_and, holds, is_near);
  }
  const Number first = e.apply(Operation::multiply, batch, e.integer(image));
  e.apply(Operation::select, holds, first, e.integer(x[0] * image));
  return mapped(call, e, std::move(inputs), ElementType::int64, dims);
}

RegionRules region_rules(LowerCall& call) {
  const bool shifted = call.since() >= 16 && call.string("coordinate_transformation_mode") != "output_half_pixel";
  return {.scale = static_cast<double>(call.real("spatial_scale", 1)),
          .shift = shifted ? 0.5 : 0,
          .has_least_length = !shifted,
          .is_max = call.string("mode") == "max",
          .samples = call.integer("sampling_ratio")};
}

Unlowered lower_roi_align(LowerCall& call) {
  const View x = call.input(0), rois = call.input(1);
  const RegionRules rules = region_rules(call);
  constexpr std::int64_t most_samples = 1 << 10;
  if (rules.samples < 1 || rules.samples > most_samples) return "the sizes of regions tell how often each is sampled";
  const std::int64_t height = call.integer("output_height", 1), width = call.integer("output_width", 1);
  if (x.rank() != 4 || rois.rank() != 2 || rois.dims[1] != 4 || height < 1 || width < 1)
    return "operands of other forms";
  const std::int64_t regions = rois.dims[0], channels = x.dims[1];
  if (x.size() == 0 || regions == 0) return "without elements";
  if (call.input(2).size() != regions) return "operands of other forms";
  SampledPoints points{.dims = {regions, height, width}};
  if (auto reason = many_taps(4 * rules.samples * rules.samples, element_count(points.dims))) return reason;
  const ElementType type = wide_type(x.type);
  points.rows = x.dims[0] * x.dims[2] * x.dims[3];
  const View pixels = rows_of_pixels(call, stored_as(call, x, type));
  points.first = first_pixels(call, x.dims, rules);
  const Taps taps[] = {region_taps(call, 0, x.dims[2], height, rules, type),
                       region_taps(call, 1, x.dims[3], width, rules, type)};
  const View result = call.make(type, {1, element_count(points.dims), channels});
  sample_rows(call, pixels, taps, points, result, rules.is_max);
  call.set_output(0, stored_as(call, permuted(reshaped(result, {regions, height, width, channels}), channels_second),
                               LowerCall::stored_type(call.output_type(0))));
  return std::nullopt;
}

}  // namespace

void register_regions(LoweringRegistry& registry);
void register_regions(LoweringRegistry& registry) { registry.add("RoiAlign", all_versions(), lower_roi_align); }

}  // namespace onnxkit::plan
