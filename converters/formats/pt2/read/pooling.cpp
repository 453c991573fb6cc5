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

/// The maxima, and their places when the node gives them.
std::vector<Val> max_pooled(Call& call, Val input, std::size_t spatial, const std::vector<ir::Attr>& attributes) {
  auto& onnx = call.onnx;
  const bool gives_indices = call.node.outputs.size() > 1;
  std::vector<Val> results = onnx.emit_many(gives_indices ? 2 : 1, "MaxPool", {input}, attributes);
  if (gives_indices) {
    // ONNX counts positions through all planes, PyTorch within each: Mod takes the planes away.
    Val plane = onnx.size_of(input, 2);
    for (std::size_t axis = 1; axis < spatial; ++axis)
      plane = onnx.emit("Mul", {plane, onnx.size_of(input, static_cast<std::int64_t>(axis) + 2)});
    results[1] = onnx.emit("Mod", {results[1], plane});
  }
  return results;
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
  std::vector<Val> results = max_pooled(call, input, spatial, attributes);
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

/// The elements of each window behind each other, by their place in the plane; shorter rows and windows repeat their last.
struct WindowPlaces {
  std::vector<std::int64_t> places;
  std::int64_t windows = 1, elements = 1;
};

/// From floor(i n / m) to ceil((i + 1) n / m) along each axis; nullopt when there are too many.
std::optional<WindowPlaces> adaptive_places(const std::vector<std::int64_t>& sizes,
                                            const std::vector<std::int64_t>& wanted) {
  constexpr std::int64_t most_elements = 1 << 20;
  WindowPlaces all;
  all.places = {0};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t size = sizes[axis], count = wanted[axis];
    if (size < 1 || count < 1 || size > most_elements || count > most_elements) return std::nullopt;
    const auto begin = [&](std::int64_t i) { return i * size / count; };
    const auto end = [&](std::int64_t i) { return ((i + 1) * size + count - 1) / count; };
    std::int64_t longest = 1;
    for (std::int64_t i = 0; i < count; ++i) longest = std::max(longest, end(i) - begin(i));
    const auto next = checked_mul(static_cast<std::int64_t>(all.places.size()), count * longest);
    if (!next || *next > most_elements) return std::nullopt;
    std::vector<std::int64_t> places;
    for (std::int64_t window = 0; window < all.windows; ++window)
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t k = 0; k < all.elements; ++k)
          for (std::int64_t step = 0; step < longest; ++step)
            places.push_back(all.places[static_cast<std::size_t>(window * all.elements + k)] * size +
                             std::min(begin(i) + step, end(i) - 1));
    all = {std::move(places), all.windows * count, all.elements * longest};
  }
  return all;
}

/// Windows of several sizes: their elements are gathered. The first of equal ones is the maximum, as repeated ones come later.
std::vector<Val> max_of_places(Call& call, Val input, const WindowPlaces& all,
                               const std::vector<std::int64_t>& wanted) {
  auto& onnx = call.onnx;
  const Val places = onnx.integers(all.places);
  const Val plane = onnx.reshape(input, {0, 0, -1});
  const Val gathered =
      onnx.emit("Gather", {plane, onnx.reshape(places, {all.windows, all.elements})}, {{"axis", std::int64_t{2}}});
  std::vector<std::int64_t> sizes = {0, 0};
  sizes.insert(sizes.end(), wanted.begin(), wanted.end());
  const Val largest = onnx.emit("ReduceMax", {gathered, onnx.integers({3})}, {{"keepdims", std::int64_t{0}}});
  std::vector<Val> results = {onnx.reshape(largest, sizes)};
  if (call.node.outputs.size() > 1) {
    const Val at = onnx.emit("ArgMax", {gathered}, {{"axis", std::int64_t{3}}, {"keepdims", std::int64_t{0}}});
    std::vector<std::int64_t> firsts;
    for (std::int64_t window = 0; window < all.windows; ++window) firsts.push_back(window * all.elements);
    const Val element = onnx.emit("Add", {at, onnx.integers(firsts)});
    results.push_back(onnx.reshape(onnx.emit("Gather", {places, element}, {{"axis", std::int64_t{0}}}), sizes));
  }
  return results;
}

/// One window, whatever the sizes are.
std::vector<Val> max_of_all(Call& call, Val input, std::size_t spatial) {
  auto& onnx = call.onnx;
  std::vector<Val> results = {onnx.emit("GlobalMaxPool", {input})};
  if (call.node.outputs.size() > 1) {
    std::vector<std::int64_t> sizes(spatial + 2, 1);
    sizes[0] = sizes[1] = 0;
    const Val at = onnx.emit("ArgMax", {onnx.reshape(input, {0, 0, -1})}, {{"axis", std::int64_t{2}}});
    results.push_back(onnx.reshape(at, sizes));
  }
  return results;
}

template <std::size_t spatial>
void map_adaptive_max_pool(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Val input = with_batch<spatial>(call, x);
  const std::vector<std::int64_t> wanted = call.integers("output_size");
  if (wanted.size() != spatial) return call.refuse("an output size for each pooled axis is wanted");
  const bool is_global = std::all_of(wanted.begin(), wanted.end(), [](std::int64_t size) { return size == 1; });
  std::vector<std::int64_t> window(spatial, 1), sizes;
  bool is_even = true;
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto size = onnx.size(input, i + 2);
    const AdaptiveAxis axis = adaptive_axis(size, wanted[i]);
    if (!axis.is_even && !size && !is_global)
      return call.refuse("windows of adaptive maximum pooling depend on a size that is not known");
    is_even = is_even && axis.is_even;
    window[i] = axis.window;
    sizes.push_back(size.value_or(0));
  }
  std::vector<Val> results;
  if (is_even) {
    results = max_pooled(call, input, spatial, {{"kernel_shape", window}, {"strides", window}});
  } else if (is_global) {
    results = max_of_all(call, input, spatial);
  } else {
    const std::optional<WindowPlaces> all = adaptive_places(sizes, wanted);
    if (!all) return call.refuse("windows of adaptive maximum pooling are of several sizes, or too many");
    results = max_of_places(call, input, *all, wanted);
  }
  if (!(input == x))
    for (Val& result : results) result = onnx.squeeze(result, {0});
  call.results(results);
}

}  // namespace

void register_pooling(Mappings& mappings);
void register_pooling(Mappings& mappings) {
  mappings.add({"aten.max_pool1d.default", "aten.max_pool1d_with_indices.default"}, map_max_pool<1>);
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
  mappings.add("aten.adaptive_max_pool3d.default", map_adaptive_max_pool<3>);
}

}  // namespace onnxkit::pt2
