#include "reference/windows.h"

#include <algorithm>
#include <limits>

#include "reference/walks/axes.h"

namespace onnxkit::reference::windows {
namespace {

struct Axis {
  std::int64_t size, kernel, stride, dilation, before, after, count;
};

std::vector<std::int64_t> list(const KernelContext& context, std::string_view name, std::size_t size,
                               std::int64_t fallback) {
  const auto given = context.integers(name);
  if (!given || given->empty()) return std::vector<std::int64_t>(size, fallback);
  require(given->size() == size, "an attribute of the window has not one entry for each axis");
  return *given;
}

/// Padding and the number of windows by auto_pad, pads and ceil_mode.
void place(const KernelContext& context, Axis& axis) {
  const std::string_view automatic = context.string("auto_pad");
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  if (automatic.starts_with("SAME")) {
    axis.count = (axis.size + axis.stride - 1) / axis.stride;
    const std::int64_t padding = std::max<std::int64_t>(0, (axis.count - 1) * axis.stride + extent - axis.size);
    axis.before = automatic == "SAME_LOWER" ? padding - padding / 2 : padding / 2;
    axis.after = padding - axis.before;
    return;
  }
  if (automatic == "VALID") axis.before = axis.after = 0;
  const std::int64_t room = axis.size + axis.before + axis.after - extent;
  require(room >= 0, "the window is larger than the padded picture");
  const bool ceil = context.integer("ceil_mode") != 0;
  axis.count = (room + (ceil ? axis.stride - 1 : 0)) / axis.stride + 1;
}

std::vector<Axis> axes_of(const KernelContext& context, const Tensor& x, const std::vector<std::int64_t>& kernel) {
  require(x.rank() >= 3, "the input has no picture axes");
  const auto count = static_cast<std::size_t>(x.rank() - 2);
  require(kernel.size() == count, "kernel_shape has not one entry for each axis");
  const auto strides = list(context, "strides", count, 1), dilations = list(context, "dilations", count, 1);
  const auto pads = list(context, "pads", 2 * count, 0);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < count; ++i) {
    Axis axis{
        x.dim(static_cast<std::int64_t>(i) + 2), kernel[i], strides[i], dilations[i], pads[i], pads[i + count], 0};
    constexpr std::int64_t most = 1 << 30;
    for (const std::int64_t number : {axis.kernel, axis.stride, axis.dilation})
      require(1 <= number && number < most, "a number of the window is out of range");
    require(axis.before >= 0 && axis.after >= 0 && axis.before < most && axis.after < most,
            "a padding is out of range");
    place(context, axis);
    axes.push_back(axis);
  }
  return axes;
}

std::vector<std::int64_t> kernel_of(const KernelContext& context) {
  return context.integers("kernel_shape").value_or(std::vector<std::int64_t>());
}

/// Counts through all positions of a grid; false after the last.
bool next(std::vector<std::int64_t>& position, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = position.size(); i-- > 0;) {
    if (++position[i] < sizes[i]) return true;
    position[i] = 0;
  }
  return false;
}

/// Calls f(offset in the picture or -1 in the padding, place in the window) for a window's elements.
template <class F>
void for_window(const std::vector<Axis>& axes, const std::vector<std::int64_t>& window, F f) {
  std::vector<std::int64_t> at(axes.size()), sizes;
  for (const Axis& axis : axes) sizes.push_back(axis.kernel);
  std::int64_t tap = 0;
  do {
    std::int64_t offset = 0;
    bool inside = true;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t p = window[i] * axes[i].stride + at[i] * axes[i].dilation - axes[i].before;
      inside = inside && 0 <= p && p < axes[i].size;
      offset = offset * axes[i].size + p;
    }
    f(inside ? offset : -1, tap++);
  } while (next(at, sizes));
}

/// Elements of a window that lie in the picture or its padding, not behind it as with ceil_mode.
std::int64_t padded_elements(const std::vector<Axis>& axes, const std::vector<std::int64_t>& window) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t end = axes[i].size + axes[i].before + axes[i].after;
    const std::int64_t left = end - window[i] * axes[i].stride;
    count *= std::clamp<std::int64_t>((left + axes[i].dilation - 1) / axes[i].dilation, 0, axes[i].kernel);
  }
  return count;
}

/// y[n, c, window] = f(plane of x, window) for every plane.
template <class F>
Tensor over_planes(const KernelContext& context, const Tensor& x, const std::vector<Axis>& axes, std::int64_t channels,
                   F f) {
  Dims dims = {x.dim(0), channels};
  std::vector<std::int64_t> counts;
  for (const Axis& axis : axes) counts.push_back(axis.count);
  dims.insert(dims.end(), counts.begin(), counts.end());
  Tensor y = context.make(ElementType::float64, dims);
  const std::int64_t windows = element_count(counts);
  const std::span<double> out = y.write<double>();
  if (windows == 0) return y;
  context.for_range(dims[0] * channels, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t plane = first; plane < last; ++plane) {
      std::vector<std::int64_t> window(axes.size());
      std::int64_t i = plane * windows;
      do out[static_cast<std::size_t>(i++)] = f(plane, window);
      while (next(window, counts));
    }
  });
  return y;
}

std::int64_t plane_size(const std::vector<Axis>& axes) {
  std::int64_t size = 1;
  for (const Axis& axis : axes) size *= axis.size;
  return size;
}

}  // namespace

Tensor average_pool(const KernelContext& context, const Tensor& x, bool count_padding) {
  const std::vector<Axis> axes = axes_of(context, x, kernel_of(context));
  const std::int64_t size = plane_size(axes);
  const std::span<const double> in = x.as<double>();
  return over_planes(context, x, axes, x.dim(1), [&](std::int64_t plane, const std::vector<std::int64_t>& window) {
    double sum = 0;
    std::int64_t count = 0;
    for_window(axes, window, [&](std::int64_t offset, std::int64_t) {
      if (offset < 0) return;
      sum += in[static_cast<std::size_t>(plane * size + offset)];
      ++count;
    });
    if (count_padding) count = padded_elements(axes, window);
    return count == 0 ? 0 : sum / static_cast<double>(count);
  });
}

Tensor max_pool(const KernelContext& context, const Tensor& x) {
  const std::vector<Axis> axes = axes_of(context, x, kernel_of(context));
  const std::int64_t size = plane_size(axes);
  const std::span<const double> in = x.as<double>();
  return over_planes(context, x, axes, x.dim(1), [&](std::int64_t plane, const std::vector<std::int64_t>& window) {
    double most = -std::numeric_limits<double>::infinity();
    for_window(axes, window, [&](std::int64_t offset, std::int64_t) {
      if (offset >= 0) most = std::max(most, in[static_cast<std::size_t>(plane * size + offset)]);
    });
    return most;
  });
}

Tensor convolve(const KernelContext& context, const Tensor& x, const Tensor& weight, const Tensor* bias) {
  require(x.rank() == weight.rank(), "picture and weight differ in rank");
  const std::vector<Axis> axes = axes_of(context, x, Dims(weight.dims().begin() + 2, weight.dims().end()));
  const std::int64_t groups = context.integer("group", 1), filters = weight.dim(0), depth = weight.dim(1);
  require(groups >= 1 && filters % groups == 0 && x.dim(1) % groups == 0 && x.dim(1) / groups == depth,
          "the weight is made for another number of channels");
  const std::int64_t size = plane_size(axes), per_group = filters / groups;
  std::int64_t taps = 1;
  for (const Axis& axis : axes) taps *= axis.kernel;
  const std::span<const double> in = x.as<double>(), w = weight.as<double>();
  return over_planes(context, x, axes, filters, [&](std::int64_t plane, const std::vector<std::int64_t>& window) {
    const std::int64_t image = plane / filters, filter = plane % filters;
    const std::int64_t first = image * x.dim(1) + filter / per_group * depth;
    double sum = bias ? bias->as<double>()[static_cast<std::size_t>(filter)] : 0;
    for_window(axes, window, [&](std::int64_t offset, std::int64_t tap) {
      if (offset < 0) return;
      for (std::int64_t c = 0; c < depth; ++c)
        sum += in[static_cast<std::size_t>((first + c) * size + offset)] *
               w[static_cast<std::size_t>((filter * depth + c) * taps + tap)];
    });
    return sum;
  });
}

}  // namespace onnxkit::reference::windows
