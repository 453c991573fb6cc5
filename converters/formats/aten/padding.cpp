#include "converters/formats/aten/padding.h"

#include <algorithm>

namespace onnxkit::aten {
namespace {

/// SAME_UPPER and SAME_LOWER: the result has ceil(size / stride) places.
void pad_to_same(WriteCall& call, Window& window, bool more_behind) {
  for (std::size_t i = 0; i < window.strides.size(); ++i) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    std::int64_t total = reach - 1;
    if (window.strides[i] != 1) {
      const auto size = call.size(0, i + 2);
      if (!size) return call.refuse("auto_pad over an axis of unknown size");
      const std::int64_t places = (*size + window.strides[i] - 1) / window.strides[i];
      total = std::max<std::int64_t>((places - 1) * window.strides[i] + reach - *size, 0);
    }
    window.begins[i] = more_behind ? total / 2 : total - total / 2;
    window.ends[i] = total - window.begins[i];
  }
}

}  // namespace

Window window_of(WriteCall& call, std::size_t spatial, std::size_t weight) {
  Window window;
  window.kernel = call.integers("kernel_shape");
  if (window.kernel.empty() && weight > 0) {
    for (std::size_t i = 0; i < spatial; ++i) {
      const auto size = call.size(weight, i + 2);
      if (!size) call.refuse("the sizes of its weight are not known");
      window.kernel.push_back(size.value_or(1));
    }
  }
  window.strides = call.integers("strides", Ints(spatial, 1));
  window.dilations = call.integers("dilations", Ints(spatial, 1));
  Ints pads = call.integers("pads", Ints(2 * spatial, 0));
  if (pads.size() != 2 * spatial || window.kernel.size() != spatial || window.strides.size() != spatial ||
      window.dilations.size() != spatial) {
    call.refuse("its window does not have as many axes as its input");
    return window;
  }
  window.begins.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  window.ends.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  const std::string_view automatic = call.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") pad_to_same(call, window, automatic == "SAME_UPPER");
  if (automatic == "VALID") window.begins = window.ends = Ints(spatial, 0);
  return window;
}

ValueId constant_pad(WriteCall& call, ValueId x, const std::vector<std::int64_t>& begins,
                     const std::vector<std::int64_t>& ends, double value) {
  std::vector<std::int64_t> pad;
  Type type = call.type_of(x);
  for (std::size_t i = begins.size(); i-- > 0;) {
    pad.push_back(begins[i]);
    pad.push_back(ends[i]);
    if (!type.shape || type.shape->size() < begins.size()) continue;
    Dim& size = (*type.shape)[type.shape->size() - begins.size() + i];
    size = call.dims().add(size, begins[i] + ends[i]);
  }
  return call.emit("aten.constant_pad_nd.default", {{"self", x}, {"pad", std::move(pad)}, {"value", value}},
                   std::move(type));
}

std::pair<ValueId, std::vector<std::int64_t>> padded(WriteCall& call, ValueId x, const Window& window, double value) {
  if (window.begins == window.ends &&
      std::all_of(window.begins.begin(), window.begins.end(), [](std::int64_t pad) { return pad >= 0; }))
    return {x, window.begins};
  return {constant_pad(call, x, window.begins, window.ends, value), std::vector<std::int64_t>(window.begins.size(), 0)};
}

}  // namespace onnxkit::aten
