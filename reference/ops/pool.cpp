// MaxPool, AveragePool, LpPool: a window that moves over the image axes. GlobalMaxPool, GlobalAveragePool, GlobalLpPool: one window as large
// as the image. MaxUnpool: the reverse of MaxPool.
//   ceil_mode: MaxPool, AveragePool since 10, LpPool since 18. dilations: MaxPool since 10, LpPool since 18, AveragePool since 19.
//   AveragePool counts padding when count_include_pad says so, since 7. LpPool's p is a real number in version 1.
//   From 22 on windows that would start in the padding behind the image are left out; before, the specification says nothing, and they are
//   left out as well.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "libonnxkit/base/checked.h"
#include "reference/kernels/axes.h"
#include "reference/kernels/windows.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

std::span<const std::int64_t> image_of(const Tensor& x) {
  require(x.rank() >= 3, [&] { return fmt::format("an image of rank {} has no spatial axes", x.rank()); });
  return std::span<const std::int64_t>(x.dims()).subspan(2);
}

Dims pooled_dims(const Tensor& x, const Windows& windows) {
  Dims dims = positions_of(windows);
  dims.insert(dims.begin(), {x.dim(0), x.dim(1)});
  return dims;
}

/// Calls f(channel, position, number of the result) for every window on every channel of x.
template <class F>
void for_each_window(const KernelContext& context, const Tensor& x, const Windows& windows, const F& f) {
  const std::int64_t positions = position_count(windows);
  if (x.dim(0) == 0 || x.dim(1) == 0 || positions == 0) return;
  const std::int64_t channels = x.dim(0) * x.dim(1);
  const std::int64_t grain = 1 + (1 << 14) / std::max<std::int64_t>(tap_count(windows), 1);
  context.for_range(channels * positions, grain, [&](std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> position = position_at(windows, first % positions);
    for (std::int64_t i = first; i < last; ++i, next_position(windows, position)) f(i / positions, position.data(), i);
  });
}

/// y = f(channel of x, windows, position) for every window.
template <class F>
Tensor pool(const KernelContext& context, const Tensor& x, const Windows& windows, const F& f) {
  Tensor y = context.make_unset(x.type(), pooled_dims(x, windows));
  const double* const from = x.as<double>().data();
  double* const to = y.write<double>().data();
  const std::int64_t size = image_size(windows);
  for_each_window(context, x, windows, [&](std::int64_t channel, const std::int64_t* position, std::int64_t i) {
    to[i] = f(from + channel * size, windows, position);
  });
  return y;
}

/// Where no tap lies in the image: the least number there is.
template <class T>
T least_pool(ElementType type) {
  if constexpr (std::is_same_v<T, double>)
    return -std::numeric_limits<double>::infinity();
  else
    return static_cast<T>(least_of(type));
}

/// Number of an element of an image in column-major order, from that in row-major order.
std::int64_t column_major(const Windows& windows, std::int64_t offset) {
  std::int64_t result = 0, step = image_size(windows);
  for (std::size_t axis = windows.size(); axis-- > 0;) {
    step /= windows[axis].image;
    result += offset % windows[axis].image * step;
    offset /= windows[axis].image;
  }
  return result;
}

void max_pool(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::span<const std::int64_t> image = image_of(x);
  const Windows windows = place_windows(read_window(context, image.size()), image);
  const std::int64_t size = image_size(windows);
  const bool by_columns = context.integer("storage_order") == 1;
  Tensor y = context.make_unset(x.type(), pooled_dims(x, windows));
  Tensor indices = context.make(ElementType::int64, context.has_output(1) ? y.dims() : Dims{0});
  std::int64_t* const index = context.has_output(1) ? indices.write<std::int64_t>().data() : nullptr;
  dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from = x.as<T>().data();
    T* const to = y.write<T>().data();
    const T start = least_pool<T>(x.type());
    for_each_window(context, x, windows, [&](std::int64_t channel, const std::int64_t* position, std::int64_t i) {
      const T* const elements = from + channel * size;
      T best = start;
      std::int64_t found = -1;
      for_each_tap(windows, position, 0, [&](std::int64_t at) {
        const T value = elements[at];
        // The first of equals; NaN is above all.
        if (found >= 0 && !(value > best) && !(value != value && best == best)) return;
        best = value;
        found = at;
      });
      to[i] = best;
      if (index) index[i] = found < 0 ? -1 : channel * size + (by_columns ? column_major(windows, found) : found);
    });
  });
  y.mark_rounded(x.is_rounded());
  context.set_output(0, y);
  if (index) context.set_output(1, indices);
}

/// The windows over the image together with its padding; what hangs over that counts for nothing.
Windows with_padding(Windows windows) {
  for (WindowAxis& axis : windows) {
    axis.image += axis.behind - axis.first;
    axis.first = 0;
  }
  return windows;
}

double mean_pool(const double* channel, const Windows& windows, const std::int64_t* position, const Windows& counted) {
  ExactSum sum;
  for_each_tap(windows, position, 0, [&](std::int64_t at) { sum.add(channel[at]); });
  double count = 1;
  for (std::size_t axis = 0; axis < counted.size(); ++axis) {
    const auto [first, last] = counted[axis].inside(position[axis]);
    count *= static_cast<double>(last - first);
  }
  return count == 0 ? 0 : sum.value() / count;
}

void average_pool(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::span<const std::int64_t> image = image_of(x);
  const Windows windows = place_windows(read_window(context, image.size()), image);
  const Windows counted = context.integer("count_include_pad") != 0 ? with_padding(windows) : windows;
  context.set_output(
      0, pool(context, x, windows, [&](const double* channel, const Windows& w, const std::int64_t* position) {
        return mean_pool(channel, w, position, counted);
      }));
}

double exponent(const KernelContext& context) {
  const double p = context.since() < 2 ? context.real("p", 2) : static_cast<double>(context.integer("p", 2));
  require(p > 0, "p must be positive");
  return p;
}

double norm(const double* channel, const Windows& windows, const std::int64_t* position, double p) {
  ExactSum sum;
  for_each_tap(windows, position, 0, [&](std::int64_t at) {
    const double size = std::abs(channel[at]);
    if (p == 2)
      sum.add_product(size, size);
    else
      sum.add(p == 1 ? size : std::pow(size, p));
  });
  return p == 1 ? sum.value() : p == 2 ? std::sqrt(sum.value()) : std::pow(sum.value(), 1 / p);
}

void lp_pool(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::span<const std::int64_t> image = image_of(x);
  const double p = exponent(context);
  const Windows windows = place_windows(read_window(context, image.size()), image);
  context.set_output(
      0, pool(context, x, windows, [p](const double* channel, const Windows& w, const std::int64_t* position) {
        return norm(channel, w, position, p);
      }));
}

/// One output position, whose window is the image.
Windows whole_image(const Tensor& x) {
  Windows windows;
  for (const std::int64_t size : image_of(x)) windows.push_back({.image = size, .positions = 1, .taps = size});
  return windows;
}

void global_average_pool(KernelContext& context) {
  const Tensor& x = context.input(0);
  context.set_output(0, pool(context, x, whole_image(x),
                             [](const double* channel, const Windows& windows, const std::int64_t* position) {
                               return mean_pool(channel, windows, position, windows);
                             }));
}

void global_max_pool(KernelContext& context) {
  const Tensor& x = context.input(0);
  context.set_output(
      0,
      pool(context, x, whole_image(x), [](const double* channel, const Windows& windows, const std::int64_t* position) {
        double best = least_pool<double>(ElementType::float64);
        for_each_tap(windows, position, 0, [&](std::int64_t at) { best = greater_of(best, channel[at]); });
        return best;
      }));
}

void global_lp_pool(KernelContext& context) {
  const Tensor& x = context.input(0);
  const double p = exponent(context);
  context.set_output(0, pool(context, x, whole_image(x),
                             [p](const double* channel, const Windows& windows, const std::int64_t* position) {
                               return norm(channel, windows, position, p);
                             }));
}

/// The sizes that a MaxPool with these attributes gives x's from; the windows' edges, when several do.
Dims unpooled_dims(const KernelContext& context, const Tensor& x) {
  const std::span<const std::int64_t> image = image_of(x);
  const WindowAttributes window = read_window(context, image.size());
  Dims dims{x.dim(0), x.dim(1)};
  for (std::size_t axis = 0; axis < image.size(); ++axis) {
    const auto steps = checked_mul(image[axis] - 1, window.strides[axis]);
    require(steps.has_value(), "the size of the result overflows");
    dims.push_back(*steps + window.kernel[axis] - window.begin[axis] - window.end[axis]);
  }
  return dims;
}

/// The indices count within the sizes that the attributes give; output_shape, which may be larger, is laid out around them.
void max_unpool(KernelContext& context) {
  const Tensor &x = context.input(0), &indices = context.input(1);
  require(indices.dims() == x.dims(), "there must be one index per value");
  const Dims inner = unpooled_dims(context, x);
  Dims dims = inner;
  if (const Tensor* given = context.find_input(2)) dims = given->integers();
  require(dims.size() == inner.size() && std::equal(dims.begin(), dims.begin() + 2, inner.begin()),
          "output_shape does not match the input");
  const std::int64_t count = element_count(inner);
  bool holds = true;
  for (std::size_t axis = 2; axis < dims.size(); ++axis) holds = holds && dims[axis] >= inner[axis];
  require(holds, "output_shape is smaller than the pooled image");
  Tensor y = context.make(x.type(), dims);
  const std::span<double> to = y.write<double>();
  const std::vector<std::int64_t> strides = strides_of(dims);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t rest = indices.as<std::int64_t>()[static_cast<std::size_t>(i)], at = 0;
    require(0 <= rest && rest < count, [&] { return fmt::format("index {} is outside the result", rest); });
    for (std::size_t axis = inner.size(); axis-- > 0;) {
      at += rest % inner[axis] * strides[axis];
      rest /= inner[axis];
    }
    to[static_cast<std::size_t>(at)] = x.as<double>()[static_cast<std::size_t>(i)];
  }
  context.set_output(0, y);
}

}  // namespace

void register_pool(KernelRegistry& registry) {
  registry.add("MaxPool", all_versions(), max_pool, {.noise = noise::exact});
  registry.add("AveragePool", all_versions(), average_pool, {.noise = noise::sum});
  registry.add("LpPool", all_versions(), lp_pool, {.noise = noise::sum});
  registry.add("GlobalMaxPool", all_versions(), global_max_pool, {.noise = noise::exact});
  registry.add("GlobalAveragePool", all_versions(), global_average_pool, {.noise = noise::sum});
  registry.add("GlobalLpPool", all_versions(), global_lp_pool, {.noise = noise::sum});
  registry.add("MaxUnpool", all_versions(), max_unpool, {.noise = noise::exact});
}

}  // namespace onnxkit::reference
