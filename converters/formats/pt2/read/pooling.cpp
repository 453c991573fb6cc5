// Pooling.
#include <algorithm>

#include "converters/formats/pt2/mappings.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// One number for each pooled axis: a list of one counts for all; an empty one is `fallback`.
std::vector<std::int64_t> pooled_axes(Call& call, std::string_view name, std::size_t count,
                                      std::vector<std::int64_t> fallback) {
  std::vector<std::int64_t> values = call.integers(name);
  if (values.empty()) return fallback;
  if (values.size() == 1) values.assign(count, values.front());
  if (values.size() != count) call.refuse("a list has a number for each pooled axis or one");
  return values;
}

struct Window {
  std::vector<std::int64_t> kernel, strides, pads, dilations;
  std::int64_t ceil_mode = 0;
};

Window window_of(Call& call, std::size_t spatial) {
  Window window;
  window.kernel = pooled_axes(call, "kernel_size", spatial, std::vector<std::int64_t>(spatial, 1));
  window.strides = pooled_axes(call, "stride", spatial, window.kernel);
  window.pads = pooled_axes(call, "padding", spatial, std::vector<std::int64_t>(spatial, 0));
  window.dilations = pooled_axes(call, "dilation", spatial, std::vector<std::int64_t>(spatial, 1));
  window.ceil_mode = call.flag("ceil_mode", false) ? 1 : 0;
  const std::vector<std::int64_t> begin = window.pads;
  window.pads.insert(window.pads.end(), begin.begin(), begin.end());
  return window;
}

/// The pooled axes are the last ones; with an axis less than ONNX wants there is no batch.
template <std::size_t spatial>
Val with_batch(Call& call, Val x) {
  return call.rank(x) == spatial + 1 ? call.onnx.unsqueeze(x, {0}) : x;
}

template <std::size_t spatial>
void map_max_pool(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Val input = with_batch<spatial>(call, x);
  const Window window = window_of(call, spatial);
  const std::vector<ir::Attr> attributes = {{"kernel_shape", window.kernel},
                                            {"strides", window.strides},
                                            {"pads", window.pads},
                                            {"dilations", window.dilations},
                                            {"ceil_mode", window.ceil_mode}};
  const bool gives_indices = call.node.outputs.size() > 1;
  std::vector<Val> results = onnx.emit_many(gives_indices ? 2 : 1, "MaxPool", {input}, attributes);
  if (gives_indices) {
    // ONNX counts positions through all planes, PyTorch within each: Mod takes the planes away.
    Val plane = onnx.size_of(input, 2);
    for (std::size_t axis = 1; axis < spatial; ++axis)
      plane = onnx.emit("Mul", {plane, onnx.size_of(input, static_cast<std::int64_t>(axis) + 2)});
    results[1] = onnx.emit("Mod", {results[1], plane});
  }
  if (!(input == x))
    for (Val& result : results) result = onnx.squeeze(result, {0});
  call.results(results);
}

template <std::size_t spatial>
void map_average_pool(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Val input = with_batch<spatial>(call, x);
  const Window window = window_of(call, spatial);
  if (call.has("divisor_override")) return call.refuse("an average over another number of elements than the window's");
  const std::int64_t counts_padding = call.flag("count_include_pad", true) ? 1 : 0;
  const Val result = onnx.emit("AveragePool", {input},
                               {{"kernel_shape", window.kernel},
                                {"strides", window.strides},
                                {"pads", window.pads},
                                {"ceil_mode", window.ceil_mode},
                                {"count_include_pad", counts_padding}});
  call.result(input == x ? result : onnx.squeeze(result, {0}));
}

/// How one axis is pooled to `wanted` elements: as it is, over windows of one size, or neither.
struct AdaptiveAxis {
  std::int64_t window = 1;
  bool is_even = true;
};

AdaptiveAxis adaptive_axis(std::optional<std::int64_t> size, std::int64_t wanted) {
  if (size == wanted) return {};
  if (!size || wanted < 1 || *size % wanted != 0) return {1, false};
  return {*size / wanted, true};
}

/// One axis by a matrix: element i is the mean of those from floor(i n / m) to ceil((i + 1) n / m).
Val averaged_by_matrix(Call& call, Val x, std::int64_t axis, std::int64_t size, std::int64_t wanted) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(x);
  std::vector<std::int64_t> last_axis;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i)
    if (i != axis) last_axis.push_back(i);
  last_axis.push_back(axis);
  std::vector<double> weights(static_cast<std::size_t>(size * wanted), 0);
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::int64_t begin = i * size / wanted, end = ((i + 1) * size + wanted - 1) / wanted;
    for (std::int64_t k = begin; k < end; ++k)
      weights[static_cast<std::size_t>(k * wanted + i)] = 1.0 / static_cast<double>(end - begin);
  }
  const Val product =
      onnx.emit("MatMul", {onnx.transpose(x, last_axis), onnx.reals(onnx.elem(x), {size, wanted}, weights)});
  std::vector<std::int64_t> back;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i)
    back.push_back(i < axis ? i : i == axis ? static_cast<std::int64_t>(rank) - 1 : i - 1);
  return onnx.transpose(product, back);
}

template <std::size_t spatial>
void map_adaptive_average_pool(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  Val input = with_batch<spatial>(call, x);
  const std::vector<std::int64_t> wanted = call.integers("output_size");
  if (wanted.size() != spatial) return call.refuse("an output size for each pooled axis is wanted");
  const bool is_global = std::all_of(wanted.begin(), wanted.end(), [](std::int64_t size) { return size == 1; });
  std::vector<std::int64_t> window(spatial, 1);
  for (std::size_t i = 0; i < spatial && !is_global; ++i) {
    const auto size = onnx.size(input, i + 2);
    const AdaptiveAxis axis = adaptive_axis(size, wanted[i]);
    window[i] = axis.window;
    constexpr std::int64_t most_elements = 1 << 22;
    const auto elements = size && wanted[i] >= 1 ? checked_mul(*size, wanted[i]) : std::nullopt;
    if (!axis.is_even && (!elements || *elements > most_elements))
      return call.refuse("windows of adaptive pooling depend on a size that is not known");
    if (!axis.is_even) input = averaged_by_matrix(call, input, static_cast<std::int64_t>(i) + 2, *size, wanted[i]);
  }
  Val result = is_global ? onnx.emit("GlobalAveragePool", {input}) : input;
  const bool pools = std::any_of(window.begin(), window.end(), [](std::int64_t size) { return size > 1; });
  if (!is_global && pools) result = onnx.emit("AveragePool", {input}, {{"kernel_shape", window}, {"strides", window}});
  call.result(call.rank(x) == spatial + 1 ? onnx.squeeze(result, {0}) : result);
}

template <std::size_t spatial>
void map_adaptive_max_pool(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Val input = with_batch<spatial>(call, x);
  const std::vector<std::int64_t> wanted = call.integers("output_size");
  std::vector<std::int64_t> window(spatial, 1);
  for (std::size_t i = 0; i < spatial && wanted.size() == spatial; ++i) {
    const AdaptiveAxis axis = adaptive_axis(onnx.size(input, i + 2), wanted[i]);
    if (!axis.is_even) return call.refuse("windows of adaptive maximum pooling are of several sizes");
    window[i] = axis.window;
  }
  if (call.node.outputs.size() > 1 && wanted.size() != spatial)
    return call.refuse("an output size for each pooled axis is wanted");
  std::vector<Val> results(call.node.outputs.size());
  results.front() = onnx.emit("MaxPool", {input}, {{"kernel_shape", window}, {"strides", window}});
  if (!(input == x)) results.front() = onnx.squeeze(results.front(), {0});
  call.results(results);
}

}  // namespace

void register_pooling(Mappings& mappings);
void register_pooling(Mappings& mappings) {
  mappings.add({"aten.max_pool1d.default"}, map_max_pool<1>);
  mappings.add({"aten.max_pool2d.default", "aten.max_pool2d_with_indices.default"}, map_max_pool<2>);
  mappings.add({"aten.max_pool3d.default", "aten.max_pool3d_with_indices.default"}, map_max_pool<3>);
  mappings.add("aten.avg_pool1d.default", map_average_pool<1>);
  mappings.add("aten.avg_pool2d.default", map_average_pool<2>);
  mappings.add("aten.avg_pool3d.default", map_average_pool<3>);
  mappings.add("aten.adaptive_avg_pool1d.default", map_adaptive_average_pool<1>);
  mappings.add({"aten.adaptive_avg_pool2d.default", "aten._adaptive_avg_pool2d.default"}, map_adaptive_average_pool<2>);
  mappings.add({"aten.adaptive_avg_pool3d.default", "aten._adaptive_avg_pool3d.default"}, map_adaptive_average_pool<3>);
  mappings.add("aten.adaptive_max_pool1d.default", map_adaptive_max_pool<1>);
  mappings.add("aten.adaptive_max_pool2d.default", map_adaptive_max_pool<2>);
}

}  // namespace onnxkit::pt2
