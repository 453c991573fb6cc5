// Convolutions, with channels last.
#include <algorithm>
#include <numeric>

#include "converters/formats/saved_model/windows.h"

namespace onnxkit::to_tensorflow {
namespace {

/// [O, I, spatial...] to [spatial..., I, O]; the same exchange of axes for transposed ones, which are [I, O, spatial...].
Ints order_of_weights(std::size_t spatial) {
  Ints order(spatial);
  std::iota(order.begin(), order.end(), 2);
  order.insert(order.end(), {1, 0});
  return order;
}

/// With one channel a group, [C M, 1, spatial...] is [spatial..., C, M].
ValueId depthwise_filters(WriteCall& call, const Ints& kernel, std::int64_t channels, std::int64_t multiplier) {
  Ints order(kernel.size());
  std::iota(order.begin(), order.end(), 2);
  order.insert(order.end(), {0, 1});
  const ValueId moved = reordered(call, 1, order);
  Shape shape = shape_from(kernel);
  if (kernel.size() == 1) shape.insert(shape.begin(), Dim(1));
  shape.insert(shape.end(), {Dim(channels), Dim(multiplier)});
  return call.once(std::string("filters") + std::to_string(index_of(moved)),
                   [&] { return reshape(call, moved, shape); });
}

ValueId filters_of(WriteCall& call, std::size_t spatial) {
  const ValueId filters = reordered(call, 1, order_of_weights(spatial));
  if (spatial != 1) return filters;
  return call.once(std::string("filters") + std::to_string(index_of(filters)),
                   [&] { return expand_dims(call, filters, 0); });
}

/// TensorFlow joins a BiasAdd with the convolution before it, but lacks kernels for convolutions of several groups that are so joined.
ValueId with_bias(WriteCall& call, ValueId x, bool has_groups) {
  if (!call.has(2)) return x;
  if (has_groups) return binary(call, "AddV2", x, call.input(2));
  return call.emit("BiasAdd", {{"value", x}, {"bias", call.input(2)}}, Type(call.type_of(x)));
}

bool is_all_ones(const Ints& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](std::int64_t n) { return n == 1; });
}

ValueId convolved(WriteCall& call, std::string_view op, ValueId x, ValueId filters, const Windows& windows, Type type) {
  std::vector<Given> given = {{"input", x}, {"filter", filters}, {"strides", for_all_axes(windows.strides, 1)}};
  if (!is_all_ones(windows.dilations)) given.push_back({"dilations", for_all_axes(windows.dilations, 1)});
  state_padding(given, windows, windows.kernel.size() == 2);
  return call.emit(op, std::move(given), std::move(type));
}

/// Parts of the channels, each with filters of its own, side by side.
ValueId by_groups(WriteCall& call, std::string_view op, ValueId x, ValueId filters, const Windows& windows,
                  std::int64_t group, const Type& type) {
  const auto parts_of = [&](ValueId whole) {
    const std::size_t last = rank_of(call, whole) - 1;
    Type part = call.type_of(whole);
    if (part.shape)
      (*part.shape)[last] = Dim((*part.shape)[last].is_constant() ? (*part.shape)[last].constant() / group : 1);
    return call.emit_many(
        "Split", {{"split_dim", number(call, static_cast<std::int64_t>(last))}, {"value", whole}, {"num_split", group}},
        std::vector<Type>(static_cast<std::size_t>(group), part));
  };
  const std::vector<ValueId> xs = parts_of(x), fs = parts_of(filters);
  std::vector<ValueId> results;
  for (std::size_t g = 0; g < xs.size(); ++g) {
    Type part = type;
    if (part.shape) part.shape->back() = call.type_of(fs[g]).shape->back();
    results.push_back(convolved(call, op, xs[g], fs[g], windows, std::move(part)));
  }
  return concat(call, results, static_cast<std::int64_t>(rank_of(call, x)) - 1, type);
}

template <std::size_t spatial>
void map_conv(WriteCall& call) {
  const auto kernel = kernel_of(call, spatial);
  const auto channels = call.size(0, spatial + 1), filters = call.size(1, 0);
  const std::int64_t group = call.integer("group", 1);
  if (!is_real(call)) return;
  if (!kernel || !channels || !filters) return call.refuse("the number of its channels is not known");
  Windows windows = windows_of(call, *kernel);
  if (call.refused()) return;
  const bool is_even = std::adjacent_find(windows.strides.begin(), windows.strides.end(), std::not_equal_to<>()) ==
                       windows.strides.end();
  const bool is_depthwise = group > 1 && group == *channels && spatial < 3 && is_even && is_all_ones(windows.dilations);
  ValueId x = call.input(0);
  // The graph rewriter of TensorFlow 2.21 forgets explicit pads when it joins a convolution of one channel a group with its bias.
  if (spatial == 3 || is_depthwise) x = padded(call, x, windows, 0);
  x = with_two_spatial_axes(call, x);
  windows = with_two_spatial_axes(std::move(windows));
  if (spatial == 1) windows.strides[0] = windows.strides[1];  // kernels of one channel a group want the same for both
  const Type type = images_of(call.output_type());
  const std::string_view op = spatial == 3 ? "Conv3D" : "Conv2D";
  ValueId result;
  if (is_depthwise)
    result = convolved(call, "DepthwiseConv2dNative", x, depthwise_filters(call, *kernel, *channels, *filters / group),
                       windows, type);
  else if (group > 1 && spatial == 3)
    result = by_groups(call, op, x, filters_of(call, spatial), windows, group, type);
  else
    result = convolved(call, op, x, filters_of(call, spatial), windows, type);
  give_spatial(call, with_bias(call, result, group > 1 && !is_depthwise));
}

/// The gradient of a convolution, of which pads cut off a part.
void map_conv_transpose(WriteCall& call) {
  const auto kernel = kernel_of(call, 2);
  const auto filters = call.size(1, 1);
  if (!is_real(call)) return;
  if (!kernel || !filters) return call.refuse("the shape of its weights is not known");
  if (call.integer("group", 1) != 1) return call.refuse("transposed convolutions have no groups there");
  Windows windows{.kernel = *kernel,
                  .strides = call.integers("strides", {1, 1}),
                  .dilations = call.integers("dilations", {1, 1}),
                  .begins = {0, 0},
                  .ends = {0, 0}};
  if (!is_all_ones(windows.dilations)) return call.refuse("transposed convolutions have no dilations there");
  const Ints pads = call.integers("pads", {0, 0, 0, 0});
  if (pads.size() != 4 || windows.strides.size() != 2) return call.refuse("its pads do not fit its window");
  const std::string_view automatic = call.text("auto_pad", "NOTSET");
  if (call.has_attribute("output_shape") || automatic.starts_with("SAME"))
    return call.refuse("its pads follow from the sizes of the result", "state them as pads");
  if (automatic == "NOTSET") windows.begins = {pads[0], pads[1]};
  const auto reach = reach_of(call, *kernel, windows.strides, windows);
  if (!reach || !call.shape(0)) return call.refuse("its sizes are not known", "give the model's open sizes constants");
  const Dim batch = (*call.shape(0))[0];
  const Shape whole = {batch, Dim(reach->sizes[0]), Dim(reach->sizes[1]), Dim(*filters)};
  ValueId result = call.emit("Conv2DBackpropInput",
                             {{"input_sizes", sizes_vector(call, whole)},
                              {"filter", reordered(call, 1, {2, 3, 1, 0})},
                              {"out_backprop", call.input(0)},
                              {"strides", for_all_axes(windows.strides, 1)},
                              {"padding", std::string_view("VALID")}},
                             with_shape(call.output_type(), whole));
  if (reach->begins != Ints{0, 0} || reach->ends != reach->sizes)
    result = part(call, result, {0, reach->begins[0], reach->begins[1], 0},
                  {std::nullopt, reach->ends[0], reach->ends[1], std::nullopt}, {1, 1, 1, 1}, call.output_type());
  call.result(with_bias(call, result, false));
}

}  // namespace

void register_convolution(Writers& writers);
void register_convolution(Writers& writers) {
  writers.add("onnxkit.channels_last::Conv1D", map_conv<1>);
  writers.add("onnxkit.channels_last::Conv2D", map_conv<2>);
  writers.add("onnxkit.channels_last::Conv3D", map_conv<3>);
  writers.add("onnxkit.channels_last::ConvTranspose2D", map_conv_transpose);
}

}  // namespace onnxkit::to_tensorflow
