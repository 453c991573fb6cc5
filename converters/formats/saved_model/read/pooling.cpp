// Pooling.
#include <algorithm>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

void pool(Call& call, const char* op, Val x, std::size_t axes) {
  auto& onnx = call.onnx;
  if (call.rank(x) != axes + 2) return call.refuse("its input does not have as many axes");
  const Window window{spatial_numbers(call, "ksize", axes), spatial_numbers(call, "strides", axes),
                      std::vector<std::int64_t>(axes, 1)};
  const std::vector<ir::Attr> attributes = window_attributes(call, x, window);
  if (call.refused()) return;
  // Integers, as masks are, have no kernel of their own.
  const ElementType type = onnx.elem(x);
  const bool is_whole = type == ElementType::int32 || type == ElementType::int64 || type == ElementType::int16;
  const Val numbers = is_whole ? onnx.cast(x, ElementType::float64) : x;
  const Val pooled = onnx.emit(op, {to_channels_first(call, numbers)}, attributes);
  give_space(call, is_whole ? onnx.cast(pooled, type) : pooled);
}

void map_max_pool(Call& call) { pool(call, "MaxPool", call.tensor("input"), call.node.op == "MaxPool" ? 2 : 3); }
void map_average_pool(Call& call) {
  pool(call, "AveragePool", call.tensor("value"), call.node.op == "AvgPool" ? 2 : 3);
}

/// Places are counted over rows, columns and channels, by ONNX over images, channels, rows and columns.
void map_max_pool_places(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  const Window window{spatial_numbers(call, "ksize", 2), spatial_numbers(call, "strides", 2), {1, 1}};
  if (call.rank(x) != 4) return call.refuse("its input does not have four axes");
  const std::vector<ir::Attr> attributes = window_attributes(call, x, window);
  const auto height = onnx.size(x, 1), width = onnx.size(x, 2), channels = onnx.size(x, 3);
  if (call.refused() || !height || !width || !channels) return call.refuse("the size of its input is not known");
  constexpr std::int64_t most = 1 << 20;
  if (*height > most || *width > most || *channels > most) return call.refuse("its input is too large");
  const std::vector<Val> found = onnx.emit_many(2, "MaxPool", {foreign::channels_first(onnx, x)}, attributes);
  const auto number = [&](std::int64_t value) { return onnx.scalar_integer(ElementType::int64, value); };
  const Val places = foreign::channels_last(onnx, found[1]);
  const Val pixel = onnx.emit("Mod", {places, number(*height * *width)});
  std::vector<std::int64_t> each;
  for (std::int64_t channel = 0; channel < *channels; ++channel) each.push_back(channel);
  Val place = onnx.emit("Add", {onnx.emit("Mul", {pixel, number(*channels)}), onnx.integers(each)});
  if (call.flag("include_batch_in_index", false)) {
    const Val all = number(*height * *width * *channels);
    place = onnx.emit("Add", {place, onnx.emit("Mul", {onnx.emit("Div", {places, all}), all})});
  }
  call.results({foreign::channels_last(onnx, found[0]), onnx.cast(place, call.elem("Targmax", ElementType::int64))});
}

/// Which places of an axis each window sees: [windows, places of a window].
Val window_places(OnnxBuilder& onnx, std::int64_t windows, std::int64_t stride, std::int64_t kernel,
                  std::int64_t rate) {
  std::vector<std::int64_t> places;
  for (std::int64_t at = 0; at < windows; ++at)
    for (std::int64_t inside = 0; inside < kernel; ++inside) places.push_back(at * stride + inside * rate);
  return onnx.reshape(onnx.integers(places), {windows, kernel});
}

/// Each window's pixels side by side in the channels.
void map_patches(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("images");
  const Window window{spatial_numbers(call, "ksizes", 2), spatial_numbers(call, "strides", 2),
                      spatial_numbers(call, "rates", 2)};
  foreign::check_window(call, window);
  if (call.rank(x) != 4 || call.refused()) return call.refuse("its input does not have four axes");
  constexpr std::int64_t longest = 1 << 20;
  for (const auto* numbers : {&window.kernel, &window.strides, &window.dilations})
    if (std::any_of(numbers->begin(), numbers->end(), [](std::int64_t n) { return n > longest; }))
      return call.refuse("its windows are too large");
  const bool is_same = call.text("padding") == "SAME";
  std::vector<std::int64_t> counts, pads(8, 0);
  for (std::size_t a = 0; a < 2; ++a) {
    const auto size = onnx.size(x, a + 1);
    if (!size) return call.refuse("the size of its input is not known");
    const std::int64_t reach = (window.kernel[a] - 1) * window.dilations[a] + 1, stride = window.strides[a];
    counts.push_back(
        std::max<std::int64_t>(is_same ? (*size + stride - 1) / stride : (*size - reach + stride) / stride, 0));
    const std::int64_t missing = is_same ? std::max<std::int64_t>((counts[a] - 1) * stride + reach - *size, 0) : 0;
    pads[a + 1] = missing / 2;
    pads[a + 5] = missing - missing / 2;
  }
  constexpr std::int64_t most = 1 << 24;
  if (counts[0] * window.kernel[0] > most || counts[1] * window.kernel[1] > most)
    return call.refuse("its windows are too many");
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; }))
    x = onnx.emit("Pad", {x, onnx.integers(pads)});
  for (std::size_t a = 0; a < 2; ++a) {
    const Val places = window_places(onnx, counts[a], window.strides[a], window.kernel[a], window.dilations[a]);
    x = onnx.emit("Gather", {x, places}, {{"axis", static_cast<std::int64_t>(1 + 2 * a)}});
  }
  const Val patches = onnx.transpose(x, {0, 1, 3, 2, 4, 5});
  const std::vector<Val> sizes = {onnx.size_of(x, 0), onnx.integers(counts), onnx.integers({-1})};
  call.result(onnx.emit("Reshape", {patches, onnx.joined(sizes)}));
}

}  // namespace

void register_pooling(Mappings& mappings);
void register_pooling(Mappings& mappings) {
  mappings.add_all({"MaxPool", "MaxPool3D"}, {"input"}, map_max_pool);
  mappings.add("MaxPoolWithArgmax", {"input"}, map_max_pool_places, {"output", "argmax"});
  mappings.add("ExtractImagePatches", {"images"}, map_patches);
  mappings.add_all({"AvgPool", "AvgPool3D"}, {"value"}, map_average_pool);
}

}  // namespace onnxkit::saved_model
