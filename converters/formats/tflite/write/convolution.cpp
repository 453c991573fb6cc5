// Convolutions, with channels last.
#include <algorithm>

#include <fmt/format.h>

#include "converters/formats/tflite/windows.h"

namespace onnxkit::to_tflite {
namespace {

/// [O, I, spatial...] to [O, spatial..., I], and with one channel a group [O, 1, spatial...] to [1, spatial..., O].
Ints order_of_weights(std::size_t spatial, bool is_depthwise) {
  Ints order = {is_depthwise ? std::int64_t{1} : std::int64_t{0}};
  for (std::size_t a = 0; a < spatial; ++a) order.push_back(static_cast<std::int64_t>(a + 2));
  order.push_back(is_depthwise ? 0 : 1);
  return order;
}

std::vector<Given> window_options(const Windows& windows, Padding padding) {
  return {{"padding", std::int64_t{padding}},
          {"stride_w", windows.strides[1]},
          {"stride_h", windows.strides[0]},
          {"dilation_w_factor", windows.dilations[1]},
          {"dilation_h_factor", windows.dilations[0]}};
}

ValueId filters_of(WriteCall& call, std::size_t spatial, bool is_depthwise) {
  const std::optional<foreign::Tensor> halves = stored_halves(call, 1), stored = halves ? halves : call.stored(1);
  if (spatial == 2 || !stored)
    return with_two_spatial_axes(call, reordered(call, 1, order_of_weights(spatial, is_depthwise)));
  foreign::Tensor images = *stored;
  images.dims.insert(images.dims.begin() + 2, 1);
  const ValueId written = call.permuted_when_written(images, order_of_weights(2, is_depthwise));
  return halves ? widened(call, written) : written;
}

/// Kernels want one.
ValueId bias_of(WriteCall& call, std::int64_t filters) {
  if (call.has(2)) return call.input(2);
  const std::vector<double> zeros(static_cast<std::size_t>(filters), 0);
  return call.once(fmt::format("bias{}", filters),
                   [&] { return call.reals_tensor(ElementType::float32, {filters}, std::span<const double>(zeros)); });
}

template <std::size_t spatial>
void map_conv(WriteCall& call) {
  const auto kernel = kernel_of(call, spatial);
  const auto channels = call.size(0, spatial + 1), filters = call.size(1, 0);
  const std::int64_t group = call.integer("group", 1);
  if (call.elem(0) != ElementType::float32) return call.refuse("it convolves other elements than float32");
  if (!kernel || !channels || !filters) return call.refuse("the number of its channels is not known");
  const Windows own = windows_of(call, *kernel);
  if (call.refused()) return;
  const bool is_depthwise = group > 1 && group == *channels;
  Padding padding = valid;
  const ValueId x = with_two_spatial_axes(call, padded(call, call.input(0), own, 0, padding));
  const ValueId weights = filters_of(call, spatial, is_depthwise);
  std::vector<Given> given = {{"x", x}, {"filter", weights}, {"bias", bias_of(call, *filters)}};
  for (Given& option : window_options(with_two_spatial_axes(own), padding)) given.push_back(std::move(option));
  if (is_depthwise) given.push_back({"depth_multiplier", *filters / group});
  give_spatial(
      call, call.emit(is_depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D", std::move(given), images_of(call.output_type())));
}

/// The weights are [D, H, W, I, O].
void map_conv3d(WriteCall& call) {
  const auto kernel = kernel_of(call, 3);
  const auto filters = call.size(1, 0);
  if (!kernel || !filters) return call.refuse("the shape of its weights is not known");
  if (call.integer("group", 1) != 1) return call.refuse("convolutions over three axes have no groups there");
  const Windows windows = windows_of(call, *kernel);
  if (call.refused()) return;
  Padding padding = valid;
  const ValueId x = padded(call, call.input(0), windows, 0, padding);
  call.result(call.emit("CONV_3D",
                        {{"x", x},
                         {"filter", reordered(call, 1, {2, 3, 4, 1, 0})},
                         {"bias", bias_of(call, *filters)},
                         {"padding", std::int64_t{padding}},
                         {"stride_d", windows.strides[0]},
                         {"stride_h", windows.strides[1]},
                         {"stride_w", windows.strides[2]},
                         {"dilation_d_factor", windows.dilations[0]},
                         {"dilation_h_factor", windows.dilations[1]},
                         {"dilation_w_factor", windows.dilations[2]}},
                        call.output_type()));
}

/// Pads that follow from the sizes of the result, as ONNX says: the larger part in front unless SAME_UPPER.
std::optional<Ints> begins_of(WriteCall& call, const Ints& kernel, const Ints& strides, const Ints& dilations) {
  const std::size_t spatial = kernel.size();
  const std::string_view automatic = call.text("auto_pad", "NOTSET");
  const Ints pads = call.integers("pads", Ints(2 * spatial, 0)),
             further = call.integers("output_padding", Ints(spatial, 0));
  const bool follows = call.has_attribute("output_shape") || automatic.starts_with("SAME");
  if (pads.size() != 2 * spatial || further.size() != spatial) return std::nullopt;
  Ints begins;
  for (std::size_t a = 0; a < spatial; ++a) {
    const auto in = call.size(0, a + 1);
    const Type& type = call.output_type();
    const Dim out = type.shape && a + 1 < type.shape->size() ? (*type.shape)[a + 1] : Dim();
    if (!follows) {
      begins.push_back(automatic == "NOTSET" ? pads[a] : 0);
      continue;
    }
    if (!in || !out.is_constant()) return std::nullopt;
    const std::int64_t total = std::max<std::int64_t>(
        strides[a] * (*in - 1) + further[a] + (kernel[a] - 1) * dilations[a] + 1 - out.constant(), 0);
    begins.push_back(automatic == "SAME_UPPER" ? total / 2 : total - total / 2);
  }
  return begins;
}

/// Weights [I, O, H, W] of one group as [O, H, W, I], spread out where the windows are.
ValueId transposed_filters(WriteCall& call, std::int64_t group, std::int64_t groups, const Ints& dilations) {
  if (groups == 1 && dilations == Ints{1, 1}) return reordered(call, 1, {1, 2, 3, 0});
  const Shape& shape = *call.shape(1);
  const std::int64_t inputs = shape[0].constant() / groups;
  ValueId weights = call.input(1);
  Shape own = shape;
  own[0] = Dim(inputs);
  if (groups > 1)
    weights =
        part(call, weights, {group * inputs, 0, 0, 0}, {(group + 1) * inputs, std::nullopt, std::nullopt, std::nullopt},
             {1, 1, 1, 1}, with_shape(call.type(1), own));
  weights = transpose(call, weights, {1, 2, 3, 0});
  if (dilations == Ints{1, 1}) return weights;
  Shape spread = *call.type_of(weights).shape;
  for (std::size_t a : {std::size_t{1}, std::size_t{2}})
    spread[a] = Dim((spread[a].constant() - 1) * dilations[a - 1] + 1);
  return call.emit("DILATE",
                   {{"x", weights},
                    {"dilations", numbers(call, {1, dilations[0], dilations[1], 1})},
                    {"padding_value", call.scalar(ElementType::float32, 0)}},
                   with_shape(call.type(1), spread));
}

ValueId part_of_channels(WriteCall& call, ValueId x, std::int64_t begin, std::int64_t end) {
  Type type = call.type_of(x);
  const std::size_t rank = rank_of(call, x);
  if (type.shape) type.shape->back() = Dim(end - begin);
  Ints begins(rank, 0);
  begins.back() = begin;
  std::vector<std::optional<std::int64_t>> ends(rank);
  ends.back() = end;
  return part(call, x, begins, ends, Ints(rank, 1), std::move(type));
}

void map_conv_transpose(WriteCall& call) {
  auto kernel = kernel_of(call, 2);
  const auto filters = call.size(1, 1), channels = call.size(1, 0);
  const std::int64_t groups = call.integer("group", 1);
  if (!kernel || !filters || !channels || groups < 1) return call.refuse("the shape of its weights is not known");
  if (call.elem(0) != ElementType::float32) return call.refuse("it convolves other elements than float32");
  Windows windows{.kernel = *kernel,
                  .strides = call.integers("strides", {1, 1}),
                  .dilations = call.integers("dilations", {1, 1}),
                  .begins = {0, 0},
                  .ends = {0, 0}};
  if (windows.strides.size() != 2 || windows.dilations.size() != 2)
    return call.refuse("its strides do not fit its window");
  const auto begins = begins_of(call, *kernel, windows.strides, windows.dilations);
  if (!begins) return call.refuse("its sizes are not known", "give the model's open sizes constants");
  windows.begins = *begins;
  for (std::size_t a = 0; a < 2; ++a) (*kernel)[a] = ((*kernel)[a] - 1) * windows.dilations[a] + 1;
  const auto reach = reach_of(call, *kernel, windows.strides, windows);
  if (!reach || !call.shape(0)) return call.refuse("its sizes are not known", "give the model's open sizes constants");
  const Dim batch = (*call.shape(0))[0];
  const Shape whole = {batch, Dim(reach->sizes[0]), Dim(reach->sizes[1]), Dim(*filters)};
  const ValueId sizes = sizes_vector(call, whole);
  std::vector<ValueId> parts;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t inputs = *channels / groups;
    const ValueId x =
        groups == 1 ? call.input(0) : part_of_channels(call, call.input(0), group * inputs, (group + 1) * inputs);
    parts.push_back(call.emit("TRANSPOSE_CONV",
                              {{"output_shape", sizes},
                               {"filter", transposed_filters(call, group, groups, windows.dilations)},
                               {"x", x},
                               {"bias", groups == 1 ? call.input(2) : ValueId::none},
                               {"padding", std::int64_t{valid}},
                               {"stride_w", windows.strides[1]},
                               {"stride_h", windows.strides[0]}},
                              with_shape(call.output_type(), whole)));
  }
  Shape joined = whole;
  joined.back() = Dim(*filters * groups);
  ValueId result = concat(call, parts, 3, with_shape(call.output_type(), joined));
  if (groups > 1 && call.has(2)) result = binary(call, "ADD", result, call.input(2));
  if (reach->begins == Ints{0, 0} && reach->ends == reach->sizes) return call.result(result);
  call.result(part(call, result, {0, reach->begins[0], reach->begins[1], 0},
                   {std::nullopt, reach->ends[0], reach->ends[1], std::nullopt}, {1, 1, 1, 1}, call.output_type()));
}

}  // namespace

void register_convolution(Writers& writers);
void register_convolution(Writers& writers) {
  writers.add("onnxkit.channels_last::Conv1D", map_conv<1>);
  writers.add("onnxkit.channels_last::Conv2D", map_conv<2>);
  writers.add("onnxkit.channels_last::Conv3D", map_conv3d);
  writers.add("onnxkit.channels_last::ConvTranspose2D", map_conv_transpose);
}

}  // namespace onnxkit::to_tflite
