// Convolutions. Weights are permuted once.
#include <algorithm>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

using Sizes = std::vector<std::int64_t>;

/// The spatial sizes of weights [spatial..., in, out]; 0 where they are not known.
Sizes kernel_sizes(Call& call, Val filter, std::size_t axes) {
  Sizes sizes;
  for (std::size_t axis = 0; axis < axes; ++axis) sizes.push_back(call.onnx.size(filter, axis).value_or(0));
  return sizes;
}

/// [spatial..., in, out] to [out, in, spatial...].
Val outputs_first(OnnxBuilder& onnx, Val filter, std::size_t axes) {
  Sizes permutation = {static_cast<std::int64_t>(axes) + 1, static_cast<std::int64_t>(axes)};
  for (std::size_t axis = 0; axis < axes; ++axis) permutation.push_back(static_cast<std::int64_t>(axis));
  return onnx.transpose(filter, permutation);
}

std::optional<std::int64_t> channels_of(Call& call, Val x) {
  return call.onnx.size(x, is_channels_first(call) ? 1 : call.rank(x) - 1);
}

void convolve(Call& call, std::size_t axes, Val filter, const Window& window, std::int64_t groups) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  std::vector<ir::Attr> attributes = window_attributes(call, x, window);
  if (groups != 1) attributes.push_back({"group", groups});
  std::vector<Val> inputs = {to_channels_first(call, x), outputs_first(onnx, filter, axes)};
  if (call.has("bias")) inputs.push_back(call.tensor("bias"));
  give_space(call, onnx.emit("Conv", inputs, attributes));
}

void map_convolution(Call& call) {
  const std::size_t axes = call.node.op == "Conv3D" ? 3 : 2;
  const Val x = call.tensor("input"), filter = call.tensor("filter");
  if (call.rank(x) != axes + 2 || call.rank(filter) != axes + 2)
    return call.refuse("its operands do not have as many axes");
  const auto channels = channels_of(call, x), seen = call.onnx.size(filter, axes);
  if (!channels || !seen || *seen < 1 || *channels % *seen != 0)
    return call.refuse("the number of its channels is not known");
  const Window window{kernel_sizes(call, filter, axes), spatial_numbers(call, "strides", axes),
                      spatial_numbers(call, "dilations", axes)};
  convolve(call, axes, filter, window, *channels / *seen);
}

/// The filter is [H, W, input channels, multiplier].
void map_depthwise_convolution(Call& call) {
  auto& onnx = call.onnx;
  const Val filter = call.tensor("filter");
  if (call.rank(call.tensor("input")) != 4 || call.rank(filter) != 4)
    return call.refuse("its operands do not have four axes");
  const auto channels = onnx.size(filter, 2), multiplier = onnx.size(filter, 3);
  const Sizes kernel = kernel_sizes(call, filter, 2);
  if (!channels || !multiplier) return call.refuse("the number of its channels is not known");
  const Val side_by_side = with_axes(onnx, filter, {kernel[0], kernel[1], 1, *channels * *multiplier});
  const Window window{kernel, spatial_numbers(call, "strides", 2), spatial_numbers(call, "dilations", 2)};
  convolve(call, 2, side_by_side, window, *channels);
}

/// The spatial sizes that the node states for its result; empty where they are not known.
foreign::Shape result_sizes(Call& call, std::size_t axes) {
  const foreign::Shape sizes = call.onnx.symbolic_integers(call.tensor("input_sizes"));
  foreign::Shape result;
  for (std::size_t a = 0; a < axes && sizes.size() == axes + 2; ++a)
    if (!sizes[first_space(call) + a].is_unknown()) result.push_back(sizes[first_space(call) + a]);
  return result.size() == axes ? result : foreign::Shape();
}

/// Pads before the first place are those that the node states; those behind the last one give the result its size, which may be larger.
void begin_as_stated(Call& call, std::vector<std::int64_t>& pads, std::vector<ir::Attr>& attributes) {
  const std::size_t axes = pads.size() / 2;
  const Sizes stated = explicit_pads(call, axes);
  Sizes further(axes, 0);
  for (std::size_t a = 0; a < axes; ++a) {
    const std::int64_t end = pads[a] + pads[a + axes] - stated[a];
    if (stated[a] < 0 || end > stated[a + axes]) return call.refuse("its paddings do not give the size of its result");
    pads[a] = stated[a];
    pads[a + axes] = std::max<std::int64_t>(end, 0);
    further[a] = pads[a + axes] - end;
  }
  attributes.push_back({"output_padding", further});
}

/// The node states the size of its result. With windows as far apart as they are wide, that size may be unknown: nothing is cut off.
void map_transposed_convolution(Call& call) {
  auto& onnx = call.onnx;
  const std::size_t axes = call.node.op == "Conv2DBackpropInput" ? 2 : 3;
  const Val x = call.tensor("out_backprop"), filter = call.tensor("filter");
  if (call.rank(x) != axes + 2 || call.rank(filter) != axes + 2)
    return call.refuse("its operands do not have as many axes");
  const Window window{kernel_sizes(call, filter, axes), spatial_numbers(call, "strides", axes),
                      spatial_numbers(call, "dilations", axes)};
  foreign::check_window(call, window);
  if (call.refused()) return;
  std::vector<ir::Attr> attributes = foreign::valid_window(window);
  const Val first = to_channels_first(call, x);
  const foreign::Shape result = result_sizes(call, axes);
  const bool is_explicit = call.text("padding") == "EXPLICIT";
  if (is_explicit || !result.empty() || window.kernel != window.strides) {
    std::vector<std::int64_t> pads = foreign::transposed_pads(call, first, window, result);
    if (is_explicit) begin_as_stated(call, pads, attributes);
    attributes.push_back({"pads", pads});
  }
  // [spatial..., out, in]: the input's channels come first in ONNX.
  std::vector<Val> inputs = {first, outputs_first(onnx, filter, axes)};
  if (call.has("bias")) inputs.push_back(call.tensor("bias"));
  give_space(call, onnx.emit("ConvTranspose", inputs, attributes));
}

}  // namespace

void register_convolution(Mappings& mappings);
void register_convolution(Mappings& mappings) {
  mappings.add_all({"Conv2D", "Conv3D"}, {"input", "filter"}, map_convolution);
  mappings.add("DepthwiseConv2dNative", {"input", "filter"}, map_depthwise_convolution);
  mappings.add_all({"Conv2DBackpropInput", "Conv3DBackpropInputV2"}, {"input_sizes", "filter", "out_backprop"},
                   map_transposed_convolution);
}

}  // namespace onnxkit::saved_model
