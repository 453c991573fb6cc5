#include "converters/formats/saved_model/lower.h"

#include <algorithm>

#include <fmt/format.h>

namespace onnxkit::saved_model {

bool is_channels_first(Call& call) { return call.text("data_format", "NHWC").starts_with("NC"); }

std::size_t first_space(Call& call) { return is_channels_first(call) ? 2 : 1; }

Val to_channels_first(Call& call, Val value) {
  return is_channels_first(call) ? value : foreign::channels_first(call.onnx, value);
}

void give_space(Call& call, Val value) {
  if (is_channels_first(call)) return call.result(value);
  foreign::result_channels_first(call, value);
}

std::vector<std::int64_t> spatial_numbers(Call& call, std::string_view name, std::size_t axes) {
  const std::vector<std::int64_t> all = call.integers(name);
  if (all.empty()) return std::vector<std::int64_t>(axes, 1);
  if (all.size() != axes + 2) {
    call.refuse(fmt::format("argument {} does not have {} numbers", quote(name), axes + 2));
    return std::vector<std::int64_t>(axes, 1);
  }
  const auto start = all.begin() + static_cast<std::ptrdiff_t>(first_space(call));
  if (all.front() != 1 || (is_channels_first(call) ? all[1] : all.back()) != 1)
    call.refuse(fmt::format("argument {} is not 1 for batches and channels", quote(name)));
  return {start, start + static_cast<std::ptrdiff_t>(axes)};
}

std::vector<std::int64_t> explicit_pads(Call& call, std::size_t axes) {
  std::vector<std::int64_t> pads(2 * axes);
  const std::vector<std::int64_t> pairs = call.integers("explicit_paddings");
  if (pairs.size() != 2 * (axes + 2)) {
    call.refuse(fmt::format("argument {} does not have {} numbers", quote("explicit_paddings"), 2 * (axes + 2)));
    return pads;
  }
  for (std::size_t a = 0; a < axes; ++a) {
    pads[a] = pairs[2 * (first_space(call) + a)];
    pads[a + axes] = pairs[2 * (first_space(call) + a) + 1];
  }
  return pads;
}

std::vector<ir::Attr> window_attributes(Call& call, Val x, const Window& window) {
  foreign::check_window(call, window);
  const std::string_view padding = call.text("padding");
  if (call.refused() || padding == "VALID") return foreign::valid_window(window);
  if (padding == "SAME") return foreign::same_window(call.onnx, x, first_space(call), window);
  std::vector<ir::Attr> attributes = foreign::valid_window(window);
  if (padding == "EXPLICIT")
    attributes.push_back({"pads", explicit_pads(call, window.kernel.size())});
  else
    call.refuse("its padding is none of SAME, VALID and EXPLICIT");
  return attributes;
}

Val with_axes(OnnxBuilder& onnx, Val value, const std::vector<std::int64_t>& sizes) {
  const auto bytes = onnx.initializer_bytes(value);
  if (!bytes) return onnx.reshape(value, sizes);
  return onnx.initializer(value.graph->name_of(value.id), onnx.elem(value), sizes, *bytes);
}

std::vector<std::int64_t> known_integers(Call& call, std::string_view name) {
  const auto known = call.onnx.constant_integers(call.tensor(name));
  if (!known) call.refuse(fmt::format("argument {} is not constant", quote(name)));
  return known.value_or(std::vector<std::int64_t>());
}

std::int64_t known_axis(Call& call, std::string_view name, std::size_t rank) {
  const std::vector<std::int64_t> known = known_integers(call, name);
  const auto axes = static_cast<std::int64_t>(rank == 0 ? 1 : rank);
  if (known.size() == 1 && known.front() >= -axes && known.front() < axes)
    return known.front() < 0 ? known.front() + axes : known.front();
  call.refuse(fmt::format("argument {} is not an axis of {}", quote(name), rank));
  return 0;
}

}  // namespace onnxkit::saved_model
