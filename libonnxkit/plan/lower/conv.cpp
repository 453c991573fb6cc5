#include <algorithm>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/convolve.h"

namespace onnxkit::plan {
namespace {

Unlowered unfit(LowerCall& call, bool takes_bytes = false) {
  const std::size_t rank = call.input_dims(0).size();
  if (rank != 3 && rank != 4) return "only images of one or two axes";
  if (!is_narrow_real(call.output_type(0)) && !takes_bytes) return "only for numbers of 32 bits and less";
  if (element_count(call.input_dims(0)) == 0 || element_count(call.output_dims(0)) == 0) return "without elements";
  return std::nullopt;
}

Dims with_height_dims(Dims dims) {
  if (dims.size() == 3) dims.insert(dims.begin() + 2, 1);
  return dims;
}

/// A volume as images: each column of depth is a line of pixels.
View columns_of(View v) {
  v.strides = {v.strides[0], 1, v.strides[2], v.strides[4]};
  v.dims = {v.dims[0], v.dims[1], v.dims[2], v.dims[3] * v.dims[4]};
  return v;
}

Unlowered unfit_volume(LowerCall& call) {
  if (!is_narrow_real(call.output_type(0))) return "only for numbers of 32 bits and less";
  if (call.input(0).size() == 0 || element_count(call.output_dims(0)) == 0) return "without elements";
  return std::nullopt;
}

template <bool is_maximum>
PoolParameters pool_of(LowerCall& call, const Window& window) {
  PoolParameters pool;
  pool.is_maximum = is_maximum;
  pool.counts_padding = !is_maximum && call.integer("count_include_pad") != 0;
  pool.kernel = window.kernel;
  pool.strides = window.strides;
  pool.dilations = window.dilations;
  pool.pads = window.pads;
  return pool;
}

/// The pool over some axes of an image or a volume; one axis is the height of images that are one pixel wide.
PoolParameters over_axes(const PoolParameters& pool, std::size_t first, std::size_t count) {
  const auto add_some = [count](Dims& some, const Dims& all, std::size_t start, std::int64_t of_width) {
    for (std::size_t i = 0; i < count; ++i) some.push_back(all[start + i]);
    if (count == 1) some.push_back(of_width);
  };
  PoolParameters part = pool;
  part.kernel = part.strides = part.dilations = part.pads = {};
  add_some(part.kernel, pool.kernel, first, 1);
  add_some(part.strides, pool.strides, first, 1);
  add_some(part.dilations, pool.dilations, first, 1);
  add_some(part.pads, pool.pads, first, 0);
  add_some(part.pads, pool.pads, pool.kernel.size() + first, 0);
  return part;
}

Unlowered lower_volume_conv(LowerCall& call) {
  if (const auto reason = unfit_volume(call)) return reason;
  Filters filters(call);
  const Dims& filter = filters.all().dims;
  if (filter[2] > most_convolutions) return many_convolutions;
  const Convolved convolved{.filters = filters.all(),
                            .window = window_geometry(call, Dims(filter.begin() + 2, filter.end())),
                            .groups = call.integer("group", 1),
                            .bias = bias_of(call)};
  const View result = make_volume(call, call.output_dims(0));
  convolve_volume(call, filters, padded_volume(call, call.input(0), convolved.window.pads[0], convolved.window.pads[3]),
                  convolved, result);
  call.set_output(0, result);
  return std::nullopt;
}

/// (sum of |x| ^ p) ^ (1 / p) of each window: a convolution with ones.
Unlowered lower_lp_pool(LowerCall& call) {
  if (call.since() < 11) return "an old version";
  if (const auto reason = unfit(call)) return reason;
  const bool is_line = call.input_dims(0).size() == 3;
  Window g = window_geometry(call, *call.integers("kernel_shape"));
  if (is_line) g = with_height(std::move(g));
  const double p = static_cast<double>(call.integer("p", 2));
  if (p < 1) return "the exponent is not positive";
  View image = is_line ? with_height(call.input(0)) : call.input(0);
  Expression powers;
  const Expression::Number size =
      powers.apply(Operation::absolute, powers.convert(powers.input(0, lane_of(image.type)), Lane::f32));
  if (p != 1) powers.apply(Operation::power, size, powers.constant(Lane::f32, p));
  const View raised = make_channels_last(call, image.dims);
  call.emit_map(powers, {image}, raised);
  ConvolutionParameters parameters;
  parameters.groups = image.dims[1];
  parameters.strides = g.strides;
  parameters.dilations = g.dilations;
  parameters.pads = g.pads;
  if (p != 1) {
    const Expression::Number sum = parameters.epilogue.input(0, Lane::f32);
    parameters.epilogue.apply(Operation::power, sum, parameters.epilogue.constant(Lane::f32, 1 / p));
  }
  const Dims filter = {image.dims[1], 1, g.kernel[0], g.kernel[1]};
  call.spend_on_tables(element_count(filter), sizeof(float));
  const std::vector<float> ones(static_cast<std::size_t>(element_count(filter)), 1);
  const View output = make_channels_last(call, with_height_dims(call.output_dims(0)));
  call.emit(convolution_step, {raised, call.constant(ones, filter)}, {output}, std::move(parameters));
  give_image(call, output);
  return std::nullopt;
}

/// Each channel so many times, one behind the other.
View repeated_channels(LowerCall& call, const View& image, std::int64_t times) {
  const View result = make_channels_last(call, {image.dims[0], image.dims[1] * times, image.dims[2], image.dims[3]});
  const auto with_copies = [&](View view, std::int64_t channel_stride, std::int64_t copy_stride) {
    view.dims = {image.dims[0], image.dims[1], times, image.dims[2], image.dims[3]};
    view.strides = {view.strides[0], channel_stride, copy_stride, view.strides[2], view.strides[3]};
    return view;
  };
  call.emit_copy(with_copies(image, image.strides[1], 0), with_copies(result, times, 1));
  return result;
}

Unlowered lower_conv(LowerCall& call) {
  if (call.input_dims(0).size() == 5) return lower_volume_conv(call);
  if (const auto reason = unfit(call)) return reason;
  const bool is_line = call.input_dims(0).size() == 3;
  const Dims& weights = call.input_dims(1);
  Window g = window_geometry(call, Dims(weights.begin() + 2, weights.end()));
  View image = call.input(0);
  if (is_line) image = with_height(image), g = with_height(std::move(g));
  const View output = make_channels_last(call, with_height_dims(call.output_dims(0)));
  Filters filters(call);
  image = channels_last(call, image);
  std::int64_t groups = call.integer("group", 1);
  if (groups > 1 && groups == image.dims[1] && weights[0] > groups && weights[0] % groups == 0) {
    image = repeated_channels(call, image, weights[0] / groups);  // filters of one channel each are the fastest ones
    groups = weights[0];
  }
  convolve_image(call, filters, image, {.filters = filters.all(), .window = g, .groups = groups, .bias = bias_of(call)},
                 output);
  give_image(call, output);
  return std::nullopt;
}

/// Few channels in planes of some size.
bool has_planes(const View& image, const Dims& out) {
  constexpr std::int64_t few_channels = 8, wide = 8;
  return image.is_contiguous() && image.dims[1] < few_channels && image.dims[3] >= wide && out[2] >= wide;
}

/// Pooled along the height with columns for channels, then along the width with rows for channels.
View pooled_planes(LowerCall& call, const View& all, const PoolParameters& pool, const Dims& out) {
  const std::int64_t planes = all.dims[0] * all.dims[1], width = all.dims[3];
  const auto lines = [&](const View& view) {  // [planes, length, channels]
    View image = view;
    image.dims = {planes, view.dims[2], view.dims[1], 1};
    image.strides = {view.strides[0], 1, view.strides[1], view.strides[1]};
    return image;
  };
  const View rows = reshaped(all, {planes, all.dims[2], width}), low = call.make(all.type, {planes, out[2], width});
  call.emit(pool_step, {lines(rows)}, {lines(low)}, over_axes(pool, 0, 1));
  constexpr std::int64_t turned[] = {0, 2, 1};
  const View columns = call.contiguous(permuted(low, turned)), narrow = call.make(all.type, {planes, out[3], out[2]});
  call.emit(pool_step, {lines(columns)}, {lines(narrow)}, over_axes(pool, 1, 1));
  View result = narrow;
  result.dims = out;
  result.strides = {out[1] * out[2] * out[3], out[2] * out[3], 1, out[2]};
  return result;
}

/// [n, c, h, w] pooled, in an order of axes of its own.
View pooled(LowerCall& call, const View& image, const PoolParameters& pool, const Dims& out) {
  if (image.type == ElementType::float32 && has_planes(image, out)) return pooled_planes(call, image, pool, out);
  const View output = make_channels_last(call, out);
  call.emit(pool_step, {channels_last(call, image)}, {output}, pool);
  return output;
}

/// Each number is the one that it was.
bool keeps_all(const PoolParameters& pool) {
  const auto are = [](const Dims& dims, std::int64_t wanted) {
    return std::ranges::all_of(dims, [&](std::int64_t size) { return size == wanted; });
  };
  return are(pool.kernel, 1) && are(pool.strides, 1) && are(pool.pads, 0);
}

/// A volume in row-major order along its depth: what lies in a slice is side by side, as channels.
View pooled_depth(LowerCall& call, const View& volume, const PoolParameters& pool, const Dims& out) {
  const auto lines = [](View view) {
    const std::int64_t slice = view.dims[3] * view.dims[4];
    view.strides = {view.dims[2] * slice, 1, slice, slice};
    view.dims = {view.dims[0] * view.dims[1], slice, view.dims[2], 1};
    return view;
  };
  const View result = call.make(volume.type, out);
  call.emit(pool_step, {lines(volume)}, {lines(result)}, pool);
  return result;
}

/// Of a volume: in its slices, then along its depth. Greatest numbers and averages of both may be taken one after the other.
Unlowered lower_volume_pool(LowerCall& call, const PoolParameters& pool) {
  const Dims out = call.output_dims(0);
  const View given = call.input(0);
  const PoolParameters in_slices = over_axes(pool, 1, 2), in_depth = over_axes(pool, 0, 1);
  const bool is_simple = given.is_contiguous() && given.type == ElementType::float32;
  if (is_simple && keeps_all(in_slices)) {
    call.set_output(0, pooled_depth(call, given, in_depth, out));
    return std::nullopt;
  }
  if (is_simple && keeps_all(in_depth)) {  // slices are images of a channel for each point of the depth
    const std::int64_t channels = out[1] * out[2];
    const View image = reshaped(given, {out[0], channels, given.dims[3], given.dims[4]});
    call.set_output(0, reshaped(pooled(call, image, in_slices, {out[0], channels, out[3], out[4]}), out));
    return std::nullopt;
  }
  const View volume = padded_volume(call, given, 0, 0).view;
  View flat = volume;
  if (!keeps_all(in_slices)) {
    flat = make_volume(call, {out[0], out[1], volume.dims[2], out[3], out[4]});
    call.emit(pool_step, {slices_of(volume)}, {slices_of(flat)}, in_slices);
  }
  View result = flat;
  if (!keeps_all(in_depth)) {
    result = make_volume(call, out);
    call.emit(pool_step, {columns_of(flat)}, {columns_of(result)}, in_depth);
  }
  call.set_output(0, result);
  return std::nullopt;
}

template <bool is_maximum>
Unlowered lower_pool(LowerCall& call) {
  const bool has_positions = is_maximum && call.has_output(1);
  const auto reason = unfit(call, is_maximum && is_byte(call.output_type(0)));
  if (has_positions) {
    const bool is_pooled = call.has_output(0) && call.input_dims(0).size() != 5 && !reason;
    if (auto refused = lower_max_positions(call, is_pooled); refused || !is_pooled) return refused;
  }
  if (call.input_dims(0).size() == 5) {
    if (const auto unfit_sizes = unfit_volume(call)) return unfit_sizes;
    return lower_volume_pool(call, pool_of<is_maximum>(call, window_geometry(call, *call.integers("kernel_shape"))));
  }
  if (reason) return reason;
  if (call.input_type(0) != call.output_type(0)) return "types differ";
  const bool is_line = call.input_dims(0).size() == 3;
  Window g = window_geometry(call, *call.integers("kernel_shape"));
  if (is_line) g = with_height(std::move(g));
  const auto parameters = pool_of<is_maximum>(call, g);
  const View image = is_line ? with_height(call.input(0)) : call.input(0);
  const Dims out = with_height_dims(call.output_dims(0));
  give_image(call, pooled(call, image, parameters, out));
  return std::nullopt;
}

}  // namespace

void register_conv(LoweringRegistry& registry);
void register_conv(LoweringRegistry& registry) {
  registry.add("Conv", all_versions(), lower_conv);
  registry.add("MaxPool", all_versions(), lower_pool<true>);
  registry.add("LpPool", all_versions(), lower_lp_pool);
  registry.add("AveragePool", all_versions(), lower_pool<false>);
}

}  // namespace onnxkit::plan
