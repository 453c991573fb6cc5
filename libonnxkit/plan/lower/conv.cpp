#include <algorithm>

#include "libonnxkit/plan/images.h"

namespace onnxkit::plan {
namespace {

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
  Window g = window_geometry(call, Dims(weights.begin() + 2, weights.end()));
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
  registry.add("AveragePool", all_versions(), lower_pool<false>);
}

}  // namespace onnxkit::plan
