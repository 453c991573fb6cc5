// DeformConv: what each tap of a window sees is sampled where the run says, then a convolution over the taps of each window, side by side.
#include "libonnxkit/plan/convolve.h"
#include "libonnxkit/plan/samples.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// Of an input [n, groups * taps * coordinates, h, w] that of one group and coordinate: [n, h, w, taps].
View deformation(LowerCall& call, std::size_t input, std::int64_t groups, std::int64_t coordinates, std::int64_t group,
                 std::int64_t coordinate) {
  const View all = call.contiguous(call.input(input));
  const Dims dims = {all.dims[0], groups, all.dims[1] / (groups * coordinates), coordinates, all.dims[2], all.dims[3]};
  const View own = picked(picked(reshaped(all, dims), 3, coordinate), 1, group);
  constexpr std::int64_t taps_last[] = {0, 2, 3, 1};
  return permuted(own, taps_last);
}

/// Two neighbours of each place along an axis; outside of it there are none.
Taps deformed_taps(LowerCall& call, const Window& window, std::size_t axis, std::int64_t size, const View& offsets) {
  const auto row_of = [&](std::int64_t tap) { return axis == 0 ? tap / window.kernel[1] : tap % window.kernel[1]; };
  const std::int64_t taps = window.kernel[0] * window.kernel[1];
  call.spend_on_tables(taps, sizeof(std::int64_t));
  std::vector<std::int64_t> begins;
  for (std::int64_t tap = 0; tap < taps; ++tap)
    begins.push_back(row_of(tap) * window.dilations[axis] - window.pads[axis]);
  const Dims& points = offsets.dims;  // [n, h, w, taps]
  const View coordinates[] = {offsets, positions_along(call, points, axis + 1),
                              broadcast_to(call.constant(begins, {1, 1, 1, taps}), points)};
  const auto write = [&](Expression& e, std::span<const Number> of, Number tap, TapPart part) {
    const auto number = [&](double value) { return e.constant(Lane::f64, value); };
    const Number window_at = e.apply(Operation::multiply, of[1], number(static_cast<double>(window.strides[axis])));
    const Number at = e.apply(Operation::add, e.apply(Operation::add, window_at, of[2]), of[0]);
    const Number low = e.apply(Operation::floor, at), rest = e.apply(Operation::subtract, at, low);
    const Number is_low = e.apply(Operation::equal, tap, e.integer(0));
    if (part == TapPart::weight) return linear_weight(e, rest, is_low);
    // A neighbour without weight counts for nothing, were it infinite.
    const Number place = e.apply(Operation::add, low, e.convert(tap, Lane::f64));
    const Number has_weight = e.apply(Operation::logical_or, is_low, e.apply(Operation::less, number(0), rest));
    const Number is_inside = is_among(e, place, size);
    return e.apply(Operation::select, e.apply(Operation::logical_and, is_inside, has_weight), place, number(-1));
  };
  return taps_along(call, size, 2, coordinates, points, ElementType::float32, write);
}

Unlowered unfit_deformation(LowerCall& call, const Window& window, std::int64_t groups) {
  const Dims &x = call.input_dims(0), out = call.output_dims(0);
  const std::int64_t taps = window.kernel[0] * window.kernel[1];
  constexpr std::int64_t most_groups = 64;
  if (taps < 1 || groups < 1 || groups > most_groups || x[1] % groups != 0) return "operands of other forms";
  const auto fits = [&](std::size_t input, std::int64_t coordinates) {
    return call.input_dims(input) == Dims{x[0], groups * taps * coordinates, out[2], out[3]};
  };
  if (!fits(2, 2) || (call.has_input(4) && !fits(4, 1))) return "operands of other forms";
  return many_taps(4 * taps, x[0] * out[2] * out[3]);
}

Unlowered lower_deform_conv(LowerCall& call) {
  if (call.input_dims(0).size() != 4 || call.input_dims(1).size() != 4) return "only images of two axes";
  if (!is_narrow_real(call.output_type(0))) return "only for numbers of 32 bits and less";
  const Dims out = call.output_dims(0), filter = call.input_dims(1);
  if (call.input(0).size() == 0 || element_count(out) == 0) return "without elements";
  const Window window = window_geometry(call, Dims(filter.begin() + 2, filter.end()));
  const std::int64_t groups = call.integer("offset_group", 1);
  if (auto reason = unfit_deformation(call, window, groups)) return reason;
  const View image = channels_last(call, call.input(0));
  const std::int64_t batch = out[0], channels = image.dims[1], taps = window.kernel[0] * window.kernel[1],
                     places = out[2] * out[3], each = channels / groups;
  const View pixels = reshaped(permuted(image, channels_behind), {batch, image.dims[2] * image.dims[3], channels});
  const View seen = call.make(ElementType::float32, {batch, places * taps, channels});
  for (std::int64_t group = 0; group < groups; ++group) {
    SampledPoints points{.dims = {batch, out[2], out[3], taps}};
    if (call.has_input(4)) points.factor = deformation(call, 4, groups, 1, group, 0);
    const Taps axes[] = {deformed_taps(call, window, 0, image.dims[2], deformation(call, 2, groups, 2, group, 0)),
                         deformed_taps(call, window, 1, image.dims[3], deformation(call, 2, groups, 2, group, 1))};
    sample_rows(call, sliced(pixels, 2, group * each, 1, each), axes, points, sliced(seen, 2, group * each, 1, each));
  }
  const View line = permuted(reshaped(seen, {batch, places, taps, channels}), channels_second);
  const View output = make_channels_last(call, {batch, out[1], places, 1});
  Filters filters(call);
  convolve_image(call, filters, line,
                 {.filters = reshaped_or_copied(call, filters.all(), {filter[0], filter[1], 1, taps}),
                  .window = {.kernel = {1, taps}, .strides = {1, taps}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}},
                  .groups = call.integer("group", 1),
                  .bias = call.has_input(3) ? std::optional(call.input(3)) : std::nullopt},
                 output);
  give_image(call, reshaped(output, out));
  return std::nullopt;
}

}  // namespace

void register_deform_conv(LoweringRegistry& registry);
void register_deform_conv(LoweringRegistry& registry) { registry.add("DeformConv", all_versions(), lower_deform_conv); }

}  // namespace onnxkit::plan
