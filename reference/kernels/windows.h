#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/kernels/contract.h"

// Windows that move over the image axes of a tensor [batch, channels, d1, ..., dn]: convolutions and pools.
namespace onnxkit::reference {

/// The attributes of a window, checked; every list has one entry for each image axis.
struct WindowAttributes {
  std::vector<std::int64_t> kernel, strides, dilations;
  std::vector<std::int64_t> begin, end = {};  ///< padding
  enum class Padding : std::uint8_t { stated, same_upper, same_lower, valid } padding = Padding::stated;
  bool ceil = false;

  std::size_t axes() const { return kernel.size(); }
  /// Elements that the window spans along an axis, dilation included.
  std::int64_t extent(std::size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  bool is_same() const { return padding == Padding::same_upper || padding == Padding::same_lower; }
};
/// For images of `axes` axes. `filter` are the kernel's sizes as a weight has them; empty for pools, which need kernel_shape.
WindowAttributes read_window(const KernelContext& context, std::size_t axes, std::span<const std::int64_t> filter = {});
/// An attribute with one integer of at least `least` for each axis; `fallback` everywhere when absent.
std::vector<std::int64_t> axis_attribute(const KernelContext& context, std::string_view name, std::size_t axes,
                                         std::int64_t fallback, std::int64_t least);

/// One image axis: tap k of the window at output position j is at j * step + first + k * spacing, where the image has that.
struct WindowAxis {
  std::int64_t image = 0, positions = 0, step = 1, first = 0, spacing = 1, taps = 1;
  std::int64_t behind = 0;  ///< padding behind the image
  /// Taps [first, last) of the window at this position that lie in the image.
  std::pair<std::int64_t, std::int64_t> inside(std::int64_t position) const;
  /// Positions [first, last) at which this tap lies in the image.
  std::pair<std::int64_t, std::int64_t> reached(std::int64_t tap) const;
};
using Windows = std::vector<WindowAxis>;

/// Moves the window over images of this size; Fault when it does not fit.
Windows place_windows(const WindowAttributes& window, std::span<const std::int64_t> image);

Dims positions_of(const Windows& windows);
std::int64_t position_count(const Windows& windows);
std::int64_t tap_count(const Windows& windows);
std::int64_t image_size(const Windows& windows);

/// Calls f(offset into the image) for each tap inside the image of the window at `position`, in row-major order.
template <class F>
void for_each_tap(std::span<const WindowAxis> windows, const std::int64_t* position, std::int64_t base, const F& f) {
  const WindowAxis& axis = windows.front();
  const auto [first, last] = axis.inside(*position);
  std::int64_t at = base * axis.image + *position * axis.step + axis.first + first * axis.spacing;
  if (windows.size() == 1) {
    for (std::int64_t tap = first; tap < last; ++tap, at += axis.spacing) f(at);
  } else {
    for (std::int64_t tap = first; tap < last; ++tap, at += axis.spacing)
      for_each_tap(windows.subspan(1), position + 1, at, f);
  }
}

/// Counts up an output position in row-major order.
inline void next_position(std::span<const WindowAxis> windows, std::span<std::int64_t> position) {
  for (std::size_t axis = windows.size(); axis-- > 0;) {
    if (++position[axis] < windows[axis].positions) return;
    position[axis] = 0;
  }
}
/// The output position that has this number in row-major order.
std::vector<std::int64_t> position_at(std::span<const WindowAxis> windows, std::int64_t number);

/// fill(channel, first, count, columns) writes what the taps of the windows at the output positions [first, first + count) see of one channel: a row-major
/// matrix with a row for each tap. Called on several threads.
using FillColumns = std::function<void(std::int64_t, std::int64_t, std::int64_t, double*)>;
/// result = (or +=) weights * columns, where column i of the second matrix belongs to position i; its rows are those of all channels, one channel after
/// the other. Errors of a noisy run are `factor` times as large as those of a plain sum.
void contract_columns(const KernelContext& context, ElementType type, std::int64_t channels,
                      MatrixView<const double> weights, MatrixView<double> result, bool accumulate,
                      const FillColumns& fill, double factor = 1);

/// result[m, position] = (or +=) the sum over channels p and taps k of weights[m, p * taps + k] * (tap k of the window on channel p at position), for
/// one image [channels, d1, ..., dn].
void contract_windows(const KernelContext& context, ElementType type, const double* image, std::int64_t channels,
                      const Windows& windows, MatrixView<const double> weights, MatrixView<double> result,
                      bool accumulate);

}  // namespace onnxkit::reference
