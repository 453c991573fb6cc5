// Convolutions. Inputs have their channels last; weights are permuted once.
#include <algorithm>

#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Sizes of the axes of weights; refuses those that are not known.
Sizes kernel_sizes(Call& call, std::string_view name, std::size_t first, std::size_t count) {
  Sizes sizes;
  const Val filter = call.tensor(name);
  for (std::size_t axis = first; axis < first + count; ++axis)
    sizes.push_back(call.onnx.size(filter, axis).value_or(0));
  return sizes;
}

/// The number of groups, from the channels of the input and those that a filter sees.
std::int64_t groups_of(Call& call, Val x, std::int64_t channels_of_filter) {
  const auto channels = call.onnx.size(x, call.rank(x) - 1);
  if (!channels || channels_of_filter < 1 || *channels % channels_of_filter != 0) {
    call.refuse("the number of its channels is not known");
    return 1;
  }
  return *channels / channels_of_filter;
}

void convolve(Call& call, Val x, Val filter, std::int64_t groups, std::vector<ir::Attr> attributes) {
  auto& onnx = call.onnx;
  if (groups != 1) attributes.push_back({"group", groups});
  std::vector<Val> inputs = {channels_first(onnx, x), filter};
  if (call.has("bias")) inputs.push_back(real(call, "bias"));
  give_channels_first(call, onnx.emit("Conv", inputs, attributes));
}

void map_conv_2d(Call& call) {
  const Val x = real(call, "input");
  if (call.rank(x) != 4) return call.refuse("its input does not have four axes");
  const Val filter = weights(call, "filter", {0, 3, 1, 2});
  const std::int64_t groups = groups_of(call, x, call.onnx.size(filter, 1).value_or(0));
  const Window window = window_of(call, kernel_sizes(call, "filter", 1, 2), {"h", "w"});
  convolve(call, x, filter, groups, window_attributes(call, x, window));
}

/// The filter is [1, H, W, input channels x multiplier].
void map_depthwise_conv_2d(Call& call) {
  const Val x = real(call, "input");
  if (call.rank(x) != 4) return call.refuse("its input does not have four axes");
  const Val filter = weights(call, "filter", {3, 0, 1, 2});
  const std::int64_t groups = groups_of(call, x, 1);
  const Window window = window_of(call, kernel_sizes(call, "filter", 1, 2), {"h", "w"});
  convolve(call, x, filter, groups, window_attributes(call, x, window));
}

/// The filter is [D, H, W, input, output].
void map_conv_3d(Call& call) {
  const Val x = real(call, "input");
  if (call.rank(x) != 5) return call.refuse("its input does not have five axes");
  const Val filter = weights(call, "filter", {4, 3, 0, 1, 2});
  const std::int64_t groups = groups_of(call, x, call.onnx.size(filter, 1).value_or(0));
  const Window window = window_of(call, kernel_sizes(call, "filter", 0, 3), {"d", "h", "w"});
  convolve(call, x, filter, groups, window_attributes(call, x, window));
}

/// The file gives the size of the result. With windows as far apart as they are wide, that size may be unknown: nothing is cut off.
void map_transpose_conv(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "input");
  if (call.rank(x) != 4) return call.refuse("its input does not have four axes");
  const Val filter = weights(call, "filter", {3, 0, 1, 2});
  const Window window = window_of(call, kernel_sizes(call, "filter", 1, 2), {"h", "w"});
  if (call.refused()) return;
  std::vector<ir::Attr> attributes = {{"kernel_shape", window.kernel}, {"strides", window.strides}};
  const foreign::Shape sizes = onnx.symbolic_integers(call.tensor("output_shape"));
  const Val first = channels_first(onnx, x);
  const bool is_known = sizes.size() == 4 && !sizes[1].is_unknown() && !sizes[2].is_unknown();
  if (is_known || window.kernel != window.strides)
    attributes.push_back(
        {"pads", foreign::transposed_pads(call, first, window,
                                          is_known ? foreign::Shape{sizes[1], sizes[2]} : foreign::Shape())});
  std::vector<Val> inputs = {first, filter};
  if (call.has("bias")) inputs.push_back(real(call, "bias"));
  give_channels_first(call, onnx.emit("ConvTranspose", inputs, attributes));
}

/// The filter is [D, H, W, output, input].
void map_transpose_conv_3d(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "input");
  if (call.rank(x) != 5) return call.refuse("its input does not have five axes");
  const Val filter = weights(call, "filter", {4, 3, 0, 1, 2});
  const Window window = window_of(call, kernel_sizes(call, "filter", 0, 3), {"d", "h", "w"});
  const foreign::Shape sizes = onnx.symbolic_integers(call.tensor("output_shape"));
  if (call.refused() || sizes.size() != 5) return call.refuse("the size of its result is not known");
  const Val first = channels_first(onnx, x);
  std::vector<ir::Attr> attributes = foreign::valid_window(window);
  attributes.push_back({"pads", foreign::transposed_pads(call, first, window, {sizes[1], sizes[2], sizes[3]})});
  std::vector<Val> inputs = {first, filter};
  if (call.has("bias")) inputs.push_back(real(call, "bias"));
  give_channels_first(call, onnx.emit("ConvTranspose", inputs, attributes));
}

/// MediaPipe's own operator. The size of its result follows from that of its input, as if the last stride were a part of it.
void map_transpose_conv_bias(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input"), filter = weights(call, "filter", {3, 0, 1, 2});
  if (call.rank(x) != 4) return call.refuse("its input does not have four axes");
  const Window window = window_of(call, kernel_sizes(call, "filter", 1, 2), {"h", "w"});
  const std::int64_t padding = call.integer("padding", -1);
  if (padding != 0 && padding != 1) return call.refuse("its padding is neither SAME nor VALID");
  Sizes pads(4, 0);
  for (std::size_t a = 0; a < 2 && padding == 0; ++a) {
    const auto size = onnx.size(x, a + 1);
    if (!size || *size < 1 || call.refused()) return call.refuse("the size of its input is not known");
    const std::int64_t cut = std::max<std::int64_t>(window.kernel[a] - 1 - (*size - 1) % window.strides[a], 0);
    pads[a] = cut / 2;
    pads[a + 2] = cut - pads[a];
  }
  give_channels_first(call, onnx.emit("ConvTranspose", {channels_first(onnx, x), filter, call.tensor("bias")},
                                      {{"strides", window.strides}, {"pads", pads}}));
}

}  // namespace

void register_convolution(Mappings& mappings);
void register_convolution(Mappings& mappings) {
  mappings.add("CONV_2D", {"input", "filter", "bias"}, map_conv_2d);
  mappings.add("DEPTHWISE_CONV_2D", {"input", "filter", "bias"}, map_depthwise_conv_2d);
  mappings.add("CONV_3D", {"input", "filter", "bias"}, map_conv_3d);
  mappings.add("CUSTOM Convolution2DTransposeBias", {"input", "filter", "bias"}, map_transpose_conv_bias);
  mappings.add("CONV_3D_TRANSPOSE", {"output_shape", "filter", "input", "bias"}, map_transpose_conv_3d);
  mappings.add("TRANSPOSE_CONV", {"output_shape", "filter", "input", "bias"}, map_transpose_conv);
}

}  // namespace onnxkit::tflite
