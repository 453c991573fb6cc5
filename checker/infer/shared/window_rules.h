#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checker/infer/infer_context.h"

// What convolutions and pools have in common: windows that move over the image axes of a tensor [batch, channels, d1, ..., dn].
namespace onnxkit::checker {

enum class AutoPad : std::uint8_t { none, same, valid };

/// The attributes of a window, checked and with their defaults. Every list has one entry for each image axis, `pads` the begins first and
/// the ends behind them.
struct Window {
  Shape kernel;
  std::vector<std::int64_t> strides, dilations, pads;
  AutoPad auto_pad = AutoPad::none;
  bool ceil = false;
  /// Windows that would start behind the image are left out. Pools say so from opset 22 on; before, ceil_mode leaves it open.
  bool drops_windows_in_padding = true;

  std::size_t axes() const { return kernel.size(); }
};

/// A list attribute of one integer for each image axis, `per_axis` times over; `fallback` everywhere when absent. Reports shape-mismatch
/// for a wrong length and attribute-value for entries below `least`, and answers nullopt then.
std::optional<std::vector<std::int64_t>> axis_attribute(InferContext& context, std::string_view name, std::size_t axes,
                                                        std::int64_t fallback, std::int64_t least,
                                                        std::size_t per_axis = 1);

/// The window of a convolution, whose weight ends with the kernel's sizes, or of a pool, where `weight` is null and kernel_shape says them.
/// nullopt when an attribute is wrong (reported) or the kernel is not given at all.
std::optional<Window> read_window(InferContext& context, std::size_t axes, const Shape* weight);

/// Elements that the window spans along an axis, dilation included.
Dim extent(InferContext& context, const Window& window, std::size_t axis);
/// pads at the begin plus pads at the end.
Dim total_pads(InferContext& context, const Window& window, std::size_t axis);

/// Sizes of the result's image axes, for these image sizes. Reports negative-size when a window does not fit; the size is unknown then.
Shape window_counts(InferContext& context, const Window& window, std::span<const Dim> image);

}  // namespace onnxkit::checker
