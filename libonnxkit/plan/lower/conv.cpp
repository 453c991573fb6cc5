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

/// Of a volume: in its slices, then along its depth. Greatest numbers and averages of both may be taken one after the other.
template <bool is_maximum>
Unlowered lower_volume_pool(LowerCall& call) {
  if (const auto reason = unfit_volume(call)) return reason;
  const Window g = window_geometry(call, *call.integers("kernel_shape"));
  const Dims out = call.output_dims(0);
  const View volume = padded_volume(call, call.input(0), 0, 0).view;
  const auto with = [&](Dims kernel, Dims strides, Dims dilations, Dims pads) {
    PoolParameters p;
    p.is_maximum = is_maximum;
    p.counts_padding = !is_maximum && call.integer("count_include_pad") != 0;
    p.kernel = std::move(kernel);
    p.strides = std::move(strides);
    p.dilations = std::move(dilations);
    p.pads = std::move(pads);
    return p;
  };
  const View flat = make_volume(call, {out[0], out[1], volume.dims[2], out[3], out[4]});
  call.emit(pool_step, {slices_of(volume)}, {slices_of(flat)},
            with({g.kernel[1], g.kernel[2]}, {g.strides[1], g.strides[2]}, {g.dilations[1], g.dilations[2]},
                 {g.pads[1], g.pads[2], g.pads[4], g.pads[5]}));
  const View result = make_volume(call, out);
  call.emit(pool_step, {columns_of(flat)}, {columns_of(result)},
            with({g.kernel[0], 1}, {g.strides[0], 1}, {g.dilations[0], 1}, {g.pads[0], 0, g.pads[3], 0}));
  call.set_output(0, result);
  return std::nullopt;
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
  convolve_image(call, filters, channels_last(call, image),
                 {.filters = filters.all(), .window = g, .groups = call.integer("group", 1), .bias = bias_of(call)},
                 output);
  give_image(call, output);
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
  if (call.input_dims(0).size() == 5) return lower_volume_pool<is_maximum>(call);
  if (reason) return reason;
  if (call.input_type(0) != call.output_type(0)) return "types differ";
  const bool is_line = call.input_dims(0).size() == 3;
  Window g = window_geometry(call, *call.integers("kernel_shape"));
  if (is_line) g = with_height(std::move(g));
  PoolParameters parameters;
  parameters.is_maximum = is_maximum;
  parameters.counts_padding = !is_maximum && call.integer("count_include_pad") != 0;
  parameters.kernel = g.kernel;
  parameters.strides = g.strides;
  parameters.dilations = g.dilations;
  parameters.pads = g.pads;
  const View image = is_line ? with_height(call.input(0)) : call.input(0);
  const View output = make_channels_last(call, with_height_dims(call.output_dims(0)));
  call.emit(pool_step, {channels_last(call, image)}, {output}, std::move(parameters));
  give_image(call, output);
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
