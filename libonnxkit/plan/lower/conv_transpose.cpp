#include <algorithm>

#include "libonnxkit/plan/images.h"

// ConvTranspose: a convolution of the image with zeros between its elements, by the filters turned round.
namespace onnxkit::plan {
namespace {

/// [m, c / groups, kernel], of filters [c, m / groups, kernel], turned round.
std::vector<float> turned_filters(const std::vector<double>& weights, const Dims& dims, std::int64_t groups) {
  const std::int64_t channels = dims[0] / groups, filters = dims[1];
  const std::int64_t taps = element_count(std::span(dims).subspan(2));
  std::vector<float> turned;
  turned.reserve(weights.size());
  for (std::int64_t m = 0; m < groups * filters; ++m) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t channel = m / filters * channels + c;
      const auto from = (channel * filters + m % filters) * taps;
      for (std::int64_t tap = taps; tap-- > 0;)
        turned.push_back(static_cast<float>(weights[static_cast<std::size_t>(from + tap)]));
    }
  }
  return turned;
}

/// How many positions the result lies behind the start of what the windows write.
std::int64_t begin_of(LowerCall& call, const Window& window, std::size_t axis, std::int64_t in, std::int64_t out,
                      std::int64_t added) {
  const auto mode = call.string("auto_pad");
  const bool is_same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  const auto stated = call.integers("output_shape");
  if (!is_same && (!stated || stated->empty())) return mode == "VALID" ? 0 : window.pads[axis];
  const std::int64_t extent = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
  const std::int64_t total = std::max<std::int64_t>(0, (in - 1) * window.strides[axis] + added + extent - out);
  return mode == "SAME_UPPER" ? total / 2 : total - total / 2;
}

/// The image with zeros, such that windows of stride 1 without padding give the result.
View spread_image(LowerCall& call, const View& image, const Dims& out, const Window& window, const Dims& begins) {
  Dims dims = image.dims;
  for (std::size_t i = 0; i < begins.size(); ++i)
    dims[i + 2] = out[i + 2] + (window.kernel[i] - 1) * window.dilations[i];
  const View canvas = make_channels_last(call, dims);
  fill(call, canvas, 0);
  Expression same;
  View from = image, to = canvas;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t stride = window.strides[i];
    const std::int64_t shift = (window.kernel[i] - 1) * window.dilations[i] - begins[i];
    const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    const std::int64_t last = std::min(image.dims[i + 2], (dims[i + 2] - 1 - shift + stride) / stride);
    if (dims[i + 2] - 1 - shift < 0 || last <= first) return canvas;
    from = sliced(from, i + 2, first, 1, last - first);
    to = sliced(to, i + 2, first * stride + shift, stride, last - first);
  }
  same.convert(same.input(0, lane_of(from.type)), Lane::f32);
  call.emit_map(same, {from}, to);
  return canvas;
}

Unlowered lower_conv_transpose(LowerCall& call) {
  if (call.since() < 11) return "an old version";
  const std::size_t rank = call.input_dims(0).size();
  if (rank != 3 && rank != 4) return "only images of one or two axes";
  if (!is_narrow_real(call.output_type(0))) return "only for numbers of 32 bits and less";
  if (call.input(0).size() == 0 || element_count(call.output_dims(0)) == 0) return "without elements";
  const auto weights = call.constant_reals(1);
  if (!weights) return "the weights are not constant";
  Dims filter = call.input_dims(1), out = call.output_dims(0);
  Window window = window_geometry(call, Dims(filter.begin() + 2, filter.end()));
  const auto added = call.integers("output_padding").value_or(Dims(rank - 2, 0));
  Dims begins;
  for (std::size_t i = 0; i + 2 < rank; ++i)
    begins.push_back(begin_of(call, window, i, call.input_dims(0)[i + 2], out[i + 2], added[i]));
  View image = call.input(0);
  if (rank == 3) {
    image = with_height(image);
    window = with_height(std::move(window));
    out.insert(out.begin() + 2, 1);
    filter.insert(filter.begin() + 2, 1);
    begins.insert(begins.begin(), 0);
  }
  ConvolutionParameters parameters;
  parameters.groups = call.integer("group", 1);
  const Dims turned = {filter[1] * parameters.groups, filter[0] / parameters.groups, filter[2], filter[3]};
  parameters.strides = {1, 1};
  parameters.dilations = window.dilations;
  parameters.pads = {0, 0, 0, 0};
  const View output = make_channels_last(call, out);
  std::vector<View> inputs = {spread_image(call, image, out, window, begins),
                              call.constant(turned_filters(*weights, filter, parameters.groups), turned)};
  if (call.has_input(2)) {
    const View bias = call.input(2);
    const Expression::Number sum = parameters.epilogue.input(0, Lane::f32);
    parameters.epilogue.apply(Operation::add, sum, parameters.epilogue.input(1, lane_of(bias.type)));
    inputs.push_back(broadcast_to(*reshaped(bias, {bias.dims[0], 1, 1}), output.dims));
  }
  call.emit(convolution_step, std::move(inputs), {output}, std::move(parameters));
  give_image(call, output);
  return std::nullopt;
}

}  // namespace

void register_conv_transpose(LoweringRegistry& registry);
void register_conv_transpose(LoweringRegistry& registry) {
  registry.add("ConvTranspose", all_versions(), lower_conv_transpose);
}

}  // namespace onnxkit::plan
