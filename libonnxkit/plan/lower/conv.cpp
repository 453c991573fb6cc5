#include <algorithm>

#include "libonnxkit/plan/lowering.h"

namespace onnxkit::plan {
namespace {

/// The sizes of a window, per axis of the image, as Conv and the pools state them.
struct Geometry {
  Dims kernel, strides, dilations, pads;
};

Geometry geometry_of(LowerCall& call, Dims kernel) {
  const std::size_t axes = kernel.size();
  Geometry g{std::move(kernel), call.integers("strides").value_or(Dims(axes, 1)),
             call.integers("dilations").value_or(Dims(axes, 1)), call.integers("pads").value_or(Dims(2 * axes, 0))};
  const auto mode = call.string("auto_pad");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    const Dims& in = call.input_dims(0);
    const Dims out = call.output_dims(0);
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t span = (g.kernel[i] - 1) * g.dilations[i] + 1;
      const std::int64_t all = std::max<std::int64_t>(0, (out[i + 2] - 1) * g.strides[i] + span - in[i + 2]);
      g.pads[i] = mode == "SAME_UPPER" ? all / 2 : all - all / 2;
      g.pads[axes + i] = all - g.pads[i];
    }
  } else if (mode == "VALID") {
    g.pads.assign(2 * axes, 0);
  }
  return g;
}

/// An image axis of one element in front, for what has only one.
View with_height(const View& view) {
  View result = view;
  result.dims.insert(result.dims.begin() + 2, 1);
  result.strides.insert(result.strides.begin() + 2, view.strides[2] * view.dims[2]);
  return result;
}
Geometry with_height(Geometry g) {
  g.kernel.insert(g.kernel.begin(), 1);
  g.strides.insert(g.strides.begin(), 1);
  g.dilations.insert(g.dilations.begin(), 1);
  g.pads = {0, g.pads[0], 0, g.pads[1]};
  return g;
}

View make_channels_last(LowerCall& call, const Dims& dims) {
  View view = call.make(ElementType::float32, dims);
  view.strides = {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
  return view;
}

View channels_last(LowerCall& call, const View& view) {
  if (view.type == ElementType::float32 && view.has_channels_last()) return view;
  const View result = make_channels_last(call, view.dims);
  if (view.type == ElementType::float32) {
    call.emit_copy(view, result);
  } else {
    Expression expression;
    expression.convert(expression.input(0, lane_of(view.type)), Lane::f32);
    call.emit_map(expression, {view}, result);
  }
  return result;
}

/// The output of a step on images: without the height that was added.
void give_image(LowerCall& call, View image) {
  if (call.output_dims(0).size() == 3) {
    image.dims.erase(image.dims.begin() + 2);
    image.strides.erase(image.strides.begin() + 2);
  }
  call.set_output(0, image);
}

Unlowered unfit(LowerCall& call) {
  const std::size_t rank = call.input_dims(0).size();
  if (rank != 3 && rank != 4) return "only images of one or two axes";
  if (!is_floating(call.output_type(0)) || call.output_type(0) == ElementType::float64)
    return "only for numbers of 32 bits and less";
  if (element_count(call.input_dims(0)) == 0 || element_count(call.output_dims(0)) == 0) return "without elements";
  return std::nullopt;
}

Dims with_height_dims(Dims dims) {
  if (dims.size() == 3) dims.insert(dims.begin() + 2, 1);
  return dims;
}

Unlowered lower_conv(LowerCall& call) {
  if (const auto reason = unfit(call)) return reason;
  if (!call.is_constant(1)) return "the weights are not constant";
  const bool is_line = call.input_dims(0).size() == 3;
  const Dims& weights = call.input_dims(1);
  Geometry g = geometry_of(call, Dims(weights.begin() + 2, weights.end()));
  if (is_line) g = with_height(std::move(g));
  View image = call.input(0), filter = call.input(1);
  if (is_line) image = with_height(image), filter = with_height(filter);
  ConvolutionParameters parameters;
  parameters.groups = call.integer("group", 1);
  parameters.strides = g.strides;
  parameters.dilations = g.dilations;
  parameters.pads = g.pads;
  const View output = make_channels_last(call, with_height_dims(call.output_dims(0)));
  std::vector<View> inputs = {channels_last(call, image), filter};
  if (call.has_input(2)) {
    const Expression::Number sum = parameters.epilogue.input(0, Lane::f32);
    const View bias = call.input(2);
    parameters.epilogue.apply(Operation::add, sum, parameters.epilogue.input(1, lane_of(bias.type)));
    inputs.push_back(broadcast_to(*reshaped(bias, {bias.dims[0], 1, 1}), output.dims));
  }
  call.emit(convolution_step, std::move(inputs), {output}, std::move(parameters));
  give_image(call, output);
  return std::nullopt;
}

template <bool is_maximum>
Unlowered lower_pool(LowerCall& call) {
  if (const auto reason = unfit(call)) return reason;
  if (call.has_output(1)) return "positions of the greatest are asked for";
  if (call.input_type(0) != call.output_type(0)) return "types differ";
  const bool is_line = call.input_dims(0).size() == 3;
  Geometry g = geometry_of(call, *call.integers("kernel_shape"));
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
  registry.add("AveragePool", all_versions(), lower_pool<false>);
}

}  // namespace onnxkit::plan
