#include "converters/foreign/channels_last.h"

#include <algorithm>
#include <numeric>

#include "libonnxkit/base/checked.h"

namespace onnxkit::foreign {
namespace {

bool is_one(std::int64_t value) { return value == 1; }
bool is_zero(std::int64_t value) { return value == 0; }

}  // namespace

Val channels_first(OnnxBuilder& onnx, Val value) {
  std::vector<std::int64_t> permutation(onnx.rank(value).value_or(0));
  if (permutation.size() < 3) return value;
  std::iota(permutation.begin() + 1, permutation.end(), 0);
  permutation[1] = static_cast<std::int64_t>(permutation.size()) - 1;
  return onnx.transpose(value, permutation);
}

Val channels_last(OnnxBuilder& onnx, Val value) {
  std::vector<std::int64_t> permutation(onnx.rank(value).value_or(0));
  if (permutation.size() < 3) return value;
  std::iota(permutation.begin() + 1, permutation.end(), 2);
  permutation.back() = 1;
  return onnx.transpose(value, permutation);
}

void result_channels_first(Call& call, Val value) {
  const Value* declared = call.declared_output();
  if (declared && !call.is_output() && !call.refused()) call.onnx.name_value(value, declared->name);
  call.result(channels_last(call.onnx, value));
}

void check_window(Call& call, const Window& window) {
  constexpr std::int64_t most = 1 << 24;
  for (const auto* steps : {&window.strides, &window.dilations})
    for (const std::int64_t step : *steps)
      if (step < 1 || step > most) call.refuse("a stride or dilation is not positive");
  for (const std::int64_t size : window.kernel)
    if (size < 1) call.refuse("the size of its window is not known");
}

std::vector<ir::Attr> valid_window(const Window& window) {
  std::vector<ir::Attr> attributes = {{"kernel_shape", window.kernel}, {"strides", window.strides}};
  if (!std::all_of(window.dilations.begin(), window.dilations.end(), is_one))
    attributes.push_back({"dilations", window.dilations});
  return attributes;
}

std::vector<ir::Attr> same_window(OnnxBuilder& onnx, Val x, std::size_t space, const Window& window) {
  std::vector<ir::Attr> attributes = valid_window(window);
  const std::size_t axes = window.kernel.size();
  std::vector<std::int64_t> pads(2 * axes, 0);
  for (std::size_t a = 0; a < axes; ++a) {
    const auto size = onnx.size(x, a + space);
    const auto reach = checked_mul(window.kernel[a] - 1, window.dilations[a]);
    if (!size || !reach) {
      attributes.push_back({"auto_pad", std::string("SAME_UPPER")});
      return attributes;
    }
    const std::int64_t out = *size / window.strides[a] + (*size % window.strides[a] != 0 ? 1 : 0);
    const std::int64_t total = std::max<std::int64_t>((out - 1) * window.strides[a] + *reach + 1 - *size, 0);
    pads[a] = total / 2;
    pads[a + axes] = total - total / 2;
  }
  if (!std::all_of(pads.begin(), pads.end(), is_zero)) attributes.push_back({"pads", pads});
  return attributes;
}

std::vector<std::int64_t> transposed_pads(Call& call, Val first, const Window& window, const Shape& result) {
  const std::size_t axes = window.kernel.size();
  std::vector<std::int64_t> pads(2 * axes, 0);
  const Shape* sizes = call.onnx.shape(first);
  if (!sizes || sizes->size() != axes + 2 || result.size() != axes) {
    call.refuse("the size of its input is not known");
    return pads;
  }
  checker::DimPool& dims = call.onnx.dims();
  for (std::size_t a = 0; a < axes; ++a) {
    const auto window_size = checked_mul(window.kernel[a] - 1, window.dilations[a]);
    if (!window_size) break;
    const Dim steps = dims.mul(dims.sub((*sizes)[a + 2], Dim(1)), Dim(window.strides[a]));
    const Dim cut = dims.sub(dims.add(steps, Dim(*window_size + 1)), result[a]);
    if (!cut.is_constant()) {
      call.refuse("the size of its result does not follow from that of its input");
      return pads;
    }
    if (cut.constant() < 0) {
      call.refuse("its result is larger than its windows reach");
      return pads;
    }
    pads[a] = cut.constant() / 2;
    pads[a + axes] = cut.constant() - pads[a];
  }
  return pads;
}

Val resized(Call& call, Val first, Val size, std::string_view mode, bool aligns_corners, bool has_centers) {
  auto& onnx = call.onnx;
  if (aligns_corners && has_centers)
    call.refuse("its corners are aligned and its pixels have centers, which no runtime does");
  std::vector<ir::Attr> attributes = {{"mode", std::string(mode)},
                                      {"coordinate_transformation_mode", std::string(aligns_corners ? "align_corners"
                                                                                     : has_centers  ? "half_pixel"
                                                                                                    : "asymmetric")}};
  if (mode == "nearest")
    attributes.push_back({"nearest_mode", std::string(aligns_corners || has_centers ? "round_prefer_ceil" : "floor")});
  const Val kept = onnx.joined({onnx.size_of(first, 0), onnx.size_of(first, 1)});
  return onnx.emit("Resize", {first, {}, {}, onnx.joined({kept, size})}, attributes);
}

}  // namespace onnxkit::foreign
