#include "reference/kernels/windows.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/base/checked.h"

namespace onnxkit::reference {
namespace {

/// Far above any real attribute, and low enough that no sum or product of two overflows.
constexpr std::int64_t attribute_limit = std::int64_t{1} << 30;

WindowAttributes::Padding read_padding(const KernelContext& context) {
  const std::string_view text = context.string("auto_pad");
  if (text == "SAME_UPPER") return WindowAttributes::Padding::same_upper;
  if (text == "SAME_LOWER") return WindowAttributes::Padding::same_lower;
  if (text == "VALID") return WindowAttributes::Padding::valid;
  return WindowAttributes::Padding::stated;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

/// The n in [0, count) with 0 <= first + n * step < size.
std::pair<std::int64_t, std::int64_t> range_inside(std::int64_t first, std::int64_t step, std::int64_t size,
                                                   std::int64_t count) {
  if (step == 0) return {0, 0 <= first && first < size ? count : 0};
  const std::int64_t low = step > 0 ? ceil_div(-first, step) : ceil_div(size - 1 - first, step);
  const std::int64_t high = step > 0 ? ceil_div(size - first, step) : floor_div(-first, step) + 1;
  const std::int64_t from = std::clamp<std::int64_t>(low, 0, count);
  return {from, std::clamp(high, from, count)};
}

/// With ceil_mode the last window may hang over the end, but not begin behind the image.
std::int64_t count_positions(const WindowAttributes& window, std::size_t axis, std::int64_t image, std::int64_t begin,
                             std::int64_t end) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t span = image + begin + end - window.extent(axis);
  require(span >= 0 || (window.ceil && span > -stride), [&] {
    return fmt::format("a window of {} elements is larger than the {} elements of spatial axis {}, padding included",
                       window.extent(axis), image + begin + end, axis);
  });
  if (!window.ceil) return span / stride + 1;
  return std::min(ceil_div(span, stride) + 1, ceil_div(image + begin, stride));
}

WindowAxis place_on_axis(const WindowAttributes& window, std::size_t axis, std::int64_t image) {
  WindowAxis result{
      .image = image, .step = window.strides[axis], .spacing = window.dilations[axis], .taps = window.kernel[axis]};
  if (window.is_same()) {
    result.positions = ceil_div(image, result.step);
    const std::int64_t total =
        std::max<std::int64_t>(0, (result.positions - 1) * result.step + window.extent(axis) - image);
    const bool lower = window.padding == WindowAttributes::Padding::same_lower;
    result.behind = lower ? total / 2 : total - total / 2;
    result.first = result.behind - total;
  } else {
    const bool valid = window.padding == WindowAttributes::Padding::valid;
    const std::int64_t begin = valid ? 0 : window.begin[axis];
    result.behind = valid ? 0 : window.end[axis];
    result.positions = count_positions(window, axis, image, begin, result.behind);
    result.first = -begin;
  }
  return result;
}

/// Row (tap `tap` of one channel) of the matrix that the output positions [first, last) are the columns of.
void copy_taps(std::span<const WindowAxis> windows, const double* channel, std::span<const std::int64_t> tap,
               std::vector<std::int64_t> position, std::int64_t count, double* to) {
  const WindowAxis& inner = windows.back();
  const std::span<const WindowAxis> outer = windows.first(windows.size() - 1);
  const auto [reached_first, reached_last] = inner.reached(tap.back());
  const std::int64_t shift = inner.first + tap.back() * inner.spacing;
  while (count > 0) {
    const std::int64_t from = position.back(), until = std::min(inner.positions, from + count);
    std::int64_t base = 0;
    bool is_inside = true;
    for (std::size_t axis = 0; axis < outer.size(); ++axis) {
      const WindowAxis& a = outer[axis];
      const std::int64_t at = position[axis] * a.step + a.first + tap[axis] * a.spacing;
      is_inside = 0 <= at && at < a.image;
      if (!is_inside) break;
      base = base * a.image + at;
    }
    const std::int64_t low = is_inside ? std::clamp(reached_first, from, until) : until;
    const std::int64_t high = is_inside ? std::clamp(reached_last, low, until) : until;
    to = std::fill_n(to, low - from, 0.0);
    if (low < high) {
      const double* source = channel + base * inner.image + low * inner.step + shift;
      if (inner.step == 1) {
        to = std::copy_n(source, high - low, to);
      } else {
        for (std::int64_t i = 0; i < high - low; ++i) *to++ = source[i * inner.step];
      }
    }
    to = std::fill_n(to, until - high, 0.0);
    count -= until - from;
    position.back() = 0;
    next_position(outer, position);
  }
}

/// The rows of one channel, one for each tap of the window.
void copy_channel(const KernelContext& context, const Windows& windows, const double* channel, std::int64_t first,
                  std::int64_t count, double* columns) {
  const std::int64_t taps = tap_count(windows);
  const std::vector<std::int64_t> position = position_at(windows, first);
  std::vector<std::int64_t> tap(windows.size());
  Pace pace(context);
  for (std::int64_t k = 0; k < taps; ++k) {
    pace.advance(count);
    copy_taps(windows, channel, tap, position, count, columns);
    columns += count;
    for (std::size_t axis = tap.size(); axis-- > 0;) {
      if (++tap[axis] < windows[axis].taps) break;
      tap[axis] = 0;
    }
  }
}

/// The windows are the image itself.
bool is_pointwise(const Windows& windows) {
  return std::all_of(windows.begin(), windows.end(), [](const WindowAxis& axis) {
    return axis.taps == 1 && axis.step == 1 && axis.first == 0 && axis.positions == axis.image;
  });
}

/// Of a noisy run, against a plain sum: Winograd's method serves windows of several taps without gaps, moved by one.
double growth_of_errors(const KernelContext& context, const Windows& windows) {
  const bool fits = windows.size() > 1 && std::all_of(windows.begin(), windows.end(), [](const WindowAxis& axis) {
                      return axis.taps > 1 && axis.step == 1 && axis.spacing == 1;
                    });
  return fits && context.noise() ? context.noise()->arithmetic().winograd : 1;
}

template <class F>
std::int64_t product_of(const Windows& windows, F member) {
  std::vector<std::int64_t> factors;
  for (const WindowAxis& axis : windows) factors.push_back(axis.*member);
  return element_count(factors);
}

}  // namespace

std::vector<std::int64_t> axis_attribute(const KernelContext& context, std::string_view name, std::size_t axes,
                                         std::int64_t fallback, std::int64_t least) {
  // One without elements is a mistake here, not absent.
  const auto* written = context.list_as_written<std::int64_t>(name);
  auto values = written ? *written : std::vector<std::int64_t>(axes, fallback);
  require(values.size() == axes,
          [&] { return fmt::format("{} has {} entries instead of {}", name, values.size(), axes); });
  for (const std::int64_t value : values)
    require(least <= value && value <= attribute_limit,
            [&] { return fmt::format("{} of {} is out of range", value, name); });
  return values;
}

WindowAttributes read_window(const KernelContext& context, std::size_t axes, std::span<const std::int64_t> filter) {
  WindowAttributes window{.kernel = axis_attribute(context, "kernel_shape", axes, 1, 1),
                          .strides = axis_attribute(context, "strides", axes, 1, 1),
                          .dilations = axis_attribute(context, "dilations", axes, 1, 1),
                          .begin = axis_attribute(context, "pads", 2 * axes, 0, 0),
                          .padding = read_padding(context),
                          .ceil = context.integer("ceil_mode") != 0};
  window.end.assign(window.begin.begin() + static_cast<std::ptrdiff_t>(axes), window.begin.end());
  window.begin.resize(axes);
  if (filter.empty()) {
    require(axes == 0 || context.has_attribute("kernel_shape"), "the size of the window is missing");
    return window;
  }
  const std::vector<std::int64_t> sizes(filter.begin(), filter.end());
  require(!context.has_attribute("kernel_shape") || window.kernel == sizes, "kernel_shape contradicts the weight");
  require(
      std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return 0 < size && size <= attribute_limit; }),
      "the kernel has no elements");
  window.kernel = sizes;
  return window;
}

std::pair<std::int64_t, std::int64_t> WindowAxis::inside(std::int64_t position) const {
  return range_inside(position * step + first, spacing, image, taps);
}

std::pair<std::int64_t, std::int64_t> WindowAxis::reached(std::int64_t tap) const {
  return range_inside(first + tap * spacing, step, image, positions);
}

Windows place_windows(const WindowAttributes& window, std::span<const std::int64_t> image) {
  Windows windows;
  for (std::size_t axis = 0; axis < window.axes(); ++axis) windows.push_back(place_on_axis(window, axis, image[axis]));
  return windows;
}

Dims positions_of(const Windows& windows) {
  Dims dims;
  for (const WindowAxis& axis : windows) dims.push_back(axis.positions);
  return dims;
}

std::int64_t position_count(const Windows& windows) { return product_of(windows, &WindowAxis::positions); }
std::int64_t tap_count(const Windows& windows) { return product_of(windows, &WindowAxis::taps); }
std::int64_t image_size(const Windows& windows) { return product_of(windows, &WindowAxis::image); }

std::vector<std::int64_t> position_at(std::span<const WindowAxis> windows, std::int64_t number) {
  std::vector<std::int64_t> position(windows.size());
  for (std::size_t axis = windows.size(); axis-- > 0;) {
    position[axis] = number % windows[axis].positions;
    number /= windows[axis].positions;
  }
  return position;
}

void contract_columns(const KernelContext& context, ElementType type, std::int64_t channels,
                      MatrixView<const double> weights, MatrixView<double> result, bool accumulate,
                      const FillColumns& fill, double factor) {
  const std::int64_t positions = result.columns, rows = weights.columns;
  if (positions == 0 || result.rows == 0) return;
  // Blocks of about 8 MB stay in the cache between being filled and being multiplied. The weights are packed anew for each, which a few hundred
  // positions pay for.
  const std::int64_t fitting = (std::int64_t{1} << 20) / std::max<std::int64_t>(rows, 1);
  const std::int64_t blocks = ceil_div(positions, std::clamp<std::int64_t>(fitting, 512, 2048));
  const std::int64_t block = ceil_div(positions, blocks), rows_of_channel = channels == 0 ? 0 : rows / channels;
  const auto run = [&](std::int64_t first, std::int64_t last) {
    Tensor scratch = context.make_unset(ElementType::float64, {rows, block});
    double* const columns = scratch.write<double>().data();
    for (std::int64_t b = first; b < last; ++b) {
      const std::int64_t from = b * block, count = std::min(block, positions - from);
      if (count <= 0) break;  // equal blocks may leave the last ones without any
      context.for_range(channels, 8, [&](std::int64_t first_channel, std::int64_t last_channel) {
        for (std::int64_t channel = first_channel; channel < last_channel; ++channel)
          fill(channel, from, count, columns + channel * rows_of_channel * count);
      });
      MatrixView<double> part = result;
      part.data += from * result.column_stride;
      part.columns = count;
      multiply_matrices<double>(context, type, weights, row_major<const double>(columns, rows, count), part, accumulate,
                                factor);
    }
  };
  // Many blocks run side by side, of few each is split.
  if (blocks >= 2 * context.threads().threads())
    context.for_range(blocks, 1, run);
  else
    run(0, blocks);
}

void contract_windows(const KernelContext& context, ElementType type, const double* image, std::int64_t channels,
                      const Windows& windows, MatrixView<const double> weights, MatrixView<double> result,
                      bool accumulate) {
  if (is_pointwise(windows)) {
    multiply_matrices<double>(context, type, weights, row_major(image, channels, result.columns), result, accumulate);
    return;
  }
  const std::int64_t channel_size = image_size(windows);
  contract_columns(
      context, type, channels, weights, result, accumulate,
      [&](std::int64_t channel, std::int64_t first, std::int64_t count, double* columns) {
        copy_channel(context, windows, image + channel * channel_size, first, count, columns);
      },
      growth_of_errors(context, windows));
}

}  // namespace onnxkit::reference
