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
std::int64_t count_places(const WindowAttributes& window, std::size_t axis, std::int64_t image, std::int64_t begin,
                          std::int64_t end) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t span = image + begin + end - window.extent(axis);
  require(span >= 0, [&] {
    return fmt::format("a window of {} elements is larger than the {} elements of spatial axis {}, padding included",
                       window.extent(axis), image + begin + end, axis);
  });
  if (!window.ceil) return span / stride + 1;
  return std::min(ceil_div(span, stride) + 1, ceil_div(image + begin, stride));
}

WindowAxis place_on_axis(const WindowAttributes& window, std::size_t axis, std::int64_t image) {
  WindowAxis result{
      .image = image, .step = window.strides[axis], .spacing = window.dilations[axis], .cells = window.kernel[axis]};
  if (window.is_same()) {
    result.places = ceil_div(image, result.step);
    const std::int64_t total =
        std::max<std::int64_t>(0, (result.places - 1) * result.step + window.extent(axis) - image);
    const bool lower = window.padding == WindowAttributes::Padding::same_lower;
    result.behind = lower ? total / 2 : total - total / 2;
    result.first = result.behind - total;
  } else {
    const bool valid = window.padding == WindowAttributes::Padding::valid;
    const std::int64_t begin = valid ? 0 : window.begin[axis];
    result.behind = valid ? 0 : window.end[axis];
    result.places = count_places(window, axis, image, begin, result.behind);
    result.first = -begin;
  }
  return result;
}

/// Row (cell `cell` of one plane) of the matrix that the places [first, last) are the columns of.
void copy_cells(std::span<const WindowAxis> windows, const double* plane, std::span<const std::int64_t> cell,
                std::vector<std::int64_t> place, std::int64_t count, double* to) {
  const WindowAxis& inner = windows.back();
  const std::span<const WindowAxis> outer = windows.first(windows.size() - 1);
  const auto [reached_first, reached_last] = inner.reached(cell.back());
  const std::int64_t shift = inner.first + cell.back() * inner.spacing;
  while (count > 0) {
    const std::int64_t from = place.back(), until = std::min(inner.places, from + count);
    std::int64_t base = 0;
    bool is_inside = true;
    for (std::size_t axis = 0; axis < outer.size(); ++axis) {
      const WindowAxis& a = outer[axis];
      const std::int64_t at = place[axis] * a.step + a.first + cell[axis] * a.spacing;
      is_inside = 0 <= at && at < a.image;
      if (!is_inside) break;
      base = base * a.image + at;
    }
    const std::int64_t low = is_inside ? std::clamp(reached_first, from, until) : until;
    const std::int64_t high = is_inside ? std::clamp(reached_last, low, until) : until;
    to = std::fill_n(to, low - from, 0.0);
    if (low < high) {
      const double* source = plane + base * inner.image + low * inner.step + shift;
      if (inner.step == 1) {
        to = std::copy_n(source, high - low, to);
      } else {
        for (std::int64_t i = 0; i < high - low; ++i) *to++ = source[i * inner.step];
      }
    }
    to = std::fill_n(to, until - high, 0.0);
    count -= until - from;
    place.back() = 0;
    next_place(outer, place);
  }
}

/// The rows of one plane, one for each cell of the window.
void copy_plane(const Windows& windows, const double* plane, std::int64_t first, std::int64_t count, double* columns) {
  const std::int64_t cells = cell_count(windows);
  const std::vector<std::int64_t> place = place_at(windows, first);
  std::vector<std::int64_t> cell(windows.size());
  for (std::int64_t k = 0; k < cells; ++k) {
    copy_cells(windows, plane, cell, place, count, columns);
    columns += count;
    for (std::size_t axis = cell.size(); axis-- > 0;) {
      if (++cell[axis] < windows[axis].cells) break;
      cell[axis] = 0;
    }
  }
}

/// The windows are the image itself.
bool is_pointwise(const Windows& windows) {
  return std::all_of(windows.begin(), windows.end(), [](const WindowAxis& axis) {
    return axis.cells == 1 && axis.step == 1 && axis.first == 0 && axis.places == axis.image;
  });
}

/// Of a noisy run, against a plain sum: Winograd's method serves windows of several cells without gaps, moved by one.
double growth_of_errors(const KernelContext& context, const Windows& windows) {
  const bool fits = windows.size() > 1 && std::all_of(windows.begin(), windows.end(), [](const WindowAxis& axis) {
                      return axis.cells > 1 && axis.step == 1 && axis.spacing == 1;
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

std::pair<std::int64_t, std::int64_t> WindowAxis::inside(std::int64_t place) const {
  return range_inside(place * step + first, spacing, image, cells);
}

std::pair<std::int64_t, std::int64_t> WindowAxis::reached(std::int64_t cell) const {
  return range_inside(first + cell * spacing, step, image, places);
}

Windows place_windows(const WindowAttributes& window, std::span<const std::int64_t> image) {
  Windows windows;
  for (std::size_t axis = 0; axis < window.axes(); ++axis) windows.push_back(place_on_axis(window, axis, image[axis]));
  return windows;
}

Dims places_of(const Windows& windows) {
  Dims dims;
  for (const WindowAxis& axis : windows) dims.push_back(axis.places);
  return dims;
}

std::int64_t place_count(const Windows& windows) { return product_of(windows, &WindowAxis::places); }
std::int64_t cell_count(const Windows& windows) { return product_of(windows, &WindowAxis::cells); }
std::int64_t image_size(const Windows& windows) { return product_of(windows, &WindowAxis::image); }

std::vector<std::int64_t> place_at(std::span<const WindowAxis> windows, std::int64_t number) {
  std::vector<std::int64_t> place(windows.size());
  for (std::size_t axis = windows.size(); axis-- > 0;) {
    place[axis] = number % windows[axis].places;
    number /= windows[axis].places;
  }
  return place;
}

void contract_columns(const KernelContext& context, ElementType type, std::int64_t planes,
                      MatrixView<const double> weights, MatrixView<double> result, bool accumulate,
                      const FillColumns& fill, double factor) {
  const std::int64_t places = result.columns, rows = weights.columns;
  if (places == 0 || result.rows == 0) return;
  // Blocks of about 8 MB stay in the cache between being filled and being multiplied. The weights are packed anew for each, which a few hundred
  // places pay for.
  const std::int64_t fitting = (std::int64_t{1} << 20) / std::max<std::int64_t>(rows, 1);
  const std::int64_t blocks = ceil_div(places, std::clamp<std::int64_t>(fitting, 512, 2048));
  const std::int64_t block = ceil_div(places, blocks), rows_of_plane = planes == 0 ? 0 : rows / planes;
  const auto run = [&](std::int64_t first, std::int64_t last) {
    Tensor scratch = context.make_unset(ElementType::float64, {rows, block});
    double* const columns = scratch.write<double>().data();
    for (std::int64_t b = first; b < last; ++b) {
      const std::int64_t from = b * block, count = std::min(block, places - from);
      if (count <= 0) break;  // equal blocks may leave the last ones without any
      context.for_range(planes, 8, [&](std::int64_t first_plane, std::int64_t last_plane) {
        for (std::int64_t plane = first_plane; plane < last_plane; ++plane)
          fill(plane, from, count, columns + plane * rows_of_plane * count);
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

void contract_windows(const KernelContext& context, ElementType type, const double* image, std::int64_t planes,
                      const Windows& windows, MatrixView<const double> weights, MatrixView<double> result,
                      bool accumulate) {
  if (is_pointwise(windows)) {
    multiply_matrices<double>(context, type, weights, row_major(image, planes, result.columns), result, accumulate);
    return;
  }
  const std::int64_t plane_size = image_size(windows);
  contract_columns(
      context, type, planes, weights, result, accumulate,
      [&](std::int64_t plane, std::int64_t first, std::int64_t count, double* columns) {
        copy_plane(windows, image + plane * plane_size, first, count, columns);
      },
      growth_of_errors(context, windows));
}

}  // namespace onnxkit::reference
