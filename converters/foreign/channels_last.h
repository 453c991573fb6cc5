#pragma once

#include <string_view>
#include <vector>

#include "converters/foreign/call.h"

// What formats that keep channels last share: their layout, windows that move over space, and sizes of pictures.
namespace onnxkit::foreign {

/// [N, spatial..., C] to [N, C, spatial...] and back; values of less than three axes stay.
Val channels_first(OnnxBuilder& onnx, Val value);
Val channels_last(OnnxBuilder& onnx, Val value);
/// A value with channels first becomes the result with channels last. The layout pass removes Transposes: what is transposed has the
/// result's name.
void result_channels_first(Call& call, Val value);

/// How a window moves over the spatial axes of a value, outermost axis first.
struct Window {
  std::vector<std::int64_t> kernel, strides, dilations;
};
/// Refuses a window whose sizes, strides or dilations are not positive.
void check_window(Call& call, const Window& window);

/// ONNX's attributes of a window whose results are ceil(size / stride) many; `space` is the first spatial axis of `x`. Padding is explicit where
/// the sizes are known.
std::vector<ir::Attr> same_window(OnnxBuilder& onnx, Val x, std::size_t space, const Window& window);
/// Of a window that never leaves its input.
std::vector<ir::Attr> valid_window(const Window& window);

/// Pads of a transposed convolution of a value with channels first, so that the result has these spatial sizes; refuses those that it cannot
/// have, and those that are not the same number of places away from all that the windows reach.
std::vector<std::int64_t> transposed_pads(Call& call, Val first, const Window& window, const Shape& result);

/// Resize of a picture with channels first to `size`, height and width. Corners or centers of pixels may be what fits.
Val resized(Call& call, Val first, Val size, std::string_view mode, bool aligns_corners, bool has_centers);

}  // namespace onnxkit::foreign
