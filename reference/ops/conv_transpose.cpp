// ConvTranspose: filters [C, M/group, k1, ..., kn] write their window for each position of the image [N, C, d1, ..., dn].
//   size = stride * (image - 1) + output_padding + extent of the window - pads; output_shape states it instead, auto_pad SAME_* makes it
//   stride * image, and the pads follow. Of an odd padding the larger half is at the end for SAME_UPPER, else at the beginning; version 1 puts
//   it at the end, too, when output_shape is given without SAME_*.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "libonnxkit/base/checked.h"
#include "reference/kernels/axes.h"
#include "reference/kernels/windows.h"

namespace onnxkit::reference {
namespace {

/// Size of the result and the padding before it, along one axis.
struct Placing {
  std::int64_t size = 0, begin = 0;
};

Placing place_result(const KernelContext& context, const WindowAttributes& window, std::size_t axis, std::int64_t image,
                     std::int64_t output_padding, std::optional<std::int64_t> stated) {
  const std::int64_t stride = window.strides[axis];
  const auto steps = checked_mul(image - 1, stride);
  require(image > 0 && steps && *steps < std::int64_t{1} << 61, "the image is empty, or its result is too large");
  const std::int64_t unpadded = *steps + output_padding + window.extent(axis);
  if (!stated && !window.is_same()) {
    const bool valid = window.padding == WindowAttributes::Padding::valid;
    const std::int64_t begin = valid ? 0 : window.begin[axis];
    return {unpadded - begin - (valid ? 0 : window.end[axis]), begin};
  }
  const std::int64_t size = stated.value_or(image * stride);
  require(size >= 0, "output_shape is negative");
  const std::int64_t total = std::max<std::int64_t>(0, unpadded - size);
  const bool larger_at_end = window.padding == WindowAttributes::Padding::same_upper ||
                             (context.since() < 11 && window.padding != WindowAttributes::Padding::same_lower);
  return {size, larger_at_end ? total / 2 : total - total / 2};
}

/// Some files put batch and channels before the sizes of the image.
std::vector<std::int64_t> stated_sizes(const KernelContext& context, std::size_t axes) {
  std::vector<std::int64_t> stated = context.integers("output_shape").value_or(std::vector<std::int64_t>());
  if (stated.size() == axes + 2) stated.erase(stated.begin(), stated.begin() + 2);
  require(stated.empty() || stated.size() == axes,
          [&] { return fmt::format("output_shape has {} entries, but the image has {} axes", stated.size(), axes); });
  return stated;
}

/// The positions of the result that have one remainder by the stride: they are what an ordinary convolution gives with the taps
/// first_tap, first_tap + tap_step, ... of the kernel.
struct Phase {
  WindowAxis window;
  std::int64_t remainder = 0, first_tap = 0, tap_step = 1;
};

Phase make_phase(const WindowAttributes& window, std::size_t axis, std::int64_t image, Placing result,
                 std::int64_t remainder) {
  const std::int64_t stride = window.strides[axis], dilation = window.dilations[axis], kernel = window.kernel[axis];
  const std::int64_t common = std::gcd(stride, dilation), start = remainder + result.begin;
  Phase phase{.window = {}, .remainder = remainder, .tap_step = stride / common};
  std::int64_t& first = phase.first_tap;
  while (first < std::min(phase.tap_step, kernel) && (start - first * dilation) % stride != 0) ++first;
  const bool has_taps = first < kernel && (start - first * dilation) % stride == 0;
  phase.window = {.image = image,
                  .positions = (result.size - remainder - 1) / stride + 1,
                  .first = has_taps ? (start - first * dilation) / stride : 0,
                  .spacing = -dilation / common,
                  .taps = has_taps ? (kernel - first - 1) / phase.tap_step + 1 : 0};
  return phase;
}

struct Transposed {
  WindowAttributes window;
  std::int64_t batch, groups, channels, filters;  ///< channels and filters of one group
  Dims image, result;                             ///< sizes of their axes
};

using Phases = std::vector<Phase>;

Windows windows_of(const Phases& phases) {
  Windows windows;
  for (const Phase& phase : phases) windows.push_back(phase.window);
  return windows;
}

/// Offset into a row-major array of `dims` of the element at remainder + index * step along each axis.
template <class First, class Step>
std::int64_t offset_of(const Phases& phases, std::span<const std::int64_t> dims, std::int64_t number,
                       std::span<const std::int64_t> counts, First first, Step step) {
  std::int64_t offset = 0, stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    offset += (first(phases[axis]) + number % counts[axis] * step(axis)) * stride;
    number /= counts[axis];
    stride *= dims[axis];
  }
  return offset;
}

/// The filters of one group as a matrix [filters, channels * taps of the phase].
Tensor phase_weights(const KernelContext& context, const Transposed& t, const Phases& phases, const double* w) {
  const Windows windows = windows_of(phases);
  Dims counts;
  for (const WindowAxis& axis : windows) counts.push_back(axis.taps);
  const std::int64_t taps = tap_count(windows), kernel = element_count(t.window.kernel);
  Tensor weights = context.make(ElementType::float64, {t.filters, t.channels, taps});
  double* const to = weights.write<double>().data();
  Pace pace(context);
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    pace.advance(t.filters * t.channels);
    const std::int64_t from = offset_of(
        phases, t.window.kernel, tap, counts, [](const Phase& p) { return p.first_tap; },
        [&](std::size_t axis) { return phases[axis].tap_step; });
    for (std::int64_t m = 0; m < t.filters; ++m) {
      for (std::int64_t c = 0; c < t.channels; ++c)
        to[(m * t.channels + c) * taps + tap] = w[(c * t.filters + m) * kernel + from];
    }
  }
  return weights;
}

/// Adds the output positions of one phase to the result of one image and group.
void write_phase(const KernelContext& context, const Transposed& t, const Phases& phases, ElementType type,
                 const double* image, const double* w, double* result) {
  const Windows windows = windows_of(phases);
  const std::int64_t taps = tap_count(windows), positions = position_count(windows);
  if (taps == 0 || positions == 0) return;
  const Dims counts = positions_of(windows);
  const std::int64_t size = element_count(t.result);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(positions));
  Pace pace(context);
  for (std::int64_t position = 0; position < positions; ++position) {
    pace.advance(8);
    offsets[static_cast<std::size_t>(position)] = offset_of(
        phases, t.result, position, counts, [](const Phase& p) { return p.remainder; },
        [&](std::size_t axis) { return t.window.strides[axis]; });
  }
  Tensor part = context.make(ElementType::float64, {t.filters, positions});
  double* const values = part.write<double>().data();
  for (std::int64_t m = 0; m < t.filters; ++m) {
    pace.advance(positions);
    for (std::int64_t i = 0; i < positions; ++i)
      values[m * positions + i] = result[m * size + offsets[static_cast<std::size_t>(i)]];
  }
  const Tensor weights = phase_weights(context, t, phases, w);
  contract_windows(context, type, image, t.channels, windows,
                   row_major(weights.as<double>().data(), t.filters, t.channels * taps),
                   row_major(values, t.filters, positions), true);
  for (std::int64_t m = 0; m < t.filters; ++m) {
    pace.advance(positions);
    for (std::int64_t i = 0; i < positions; ++i)
      result[m * size + offsets[static_cast<std::size_t>(i)]] = values[m * positions + i];
  }
}

Transposed read_transposed(const KernelContext& context, std::vector<Placing>& placing) {
  const Tensor &x = context.input(0), &w = context.input(1);
  require(x.rank() >= 3 && w.rank() == x.rank(),
          [&] { return fmt::format("an image of rank {} and filters of rank {} do not match", x.rank(), w.rank()); });
  const std::int64_t groups = context.integer("group", 1);
  require(groups > 0 && x.dim(1) % groups == 0, "the number of channels is not divisible by group");
  require(w.dim(0) == x.dim(1), "the filters do not match the number of channels");
  const std::span<const std::int64_t> image = std::span(x.dims()).subspan(2), kernel = std::span(w.dims()).subspan(2);
  Transposed t{.window = read_window(context, image.size(), kernel),
               .batch = x.dim(0),
               .groups = groups,
               .channels = x.dim(1) / groups,
               .filters = w.dim(1),
               .image = Dims(image.begin(), image.end()),
               .result = {}};
  const auto output_padding = axis_attribute(context, "output_padding", image.size(), 0, 0);
  const auto stated = stated_sizes(context, image.size());
  for (std::size_t axis = 0; axis < image.size(); ++axis) {
    placing.push_back(place_result(context, t.window, axis, image[axis], output_padding[axis],
                                   stated.empty() ? std::nullopt : std::optional(stated[axis])));
    require(placing.back().size >= 0, "the pads crop more than the size of the result");
    t.result.push_back(placing.back().size);
  }
  return t;
}

void conv_transpose(KernelContext& context) {
  const Tensor &x = context.input(0), &w = context.input(1);
  std::vector<Placing> placing;
  const Transposed t = read_transposed(context, placing);
  Dims dims = t.result;
  const std::array<std::int64_t, 2> filters = {t.groups, t.filters};
  dims.insert(dims.begin(), {t.batch, element_count(filters)});
  Tensor y = context.make(x.type(), dims);
  const std::int64_t size = element_count(t.result);
  if (const Tensor* bias = context.find_input(2)) {
    require(bias->dims() == Dims{dims[1]}, "there must be one bias per filter");
    double* to = y.write<double>().data();
    for (std::int64_t n = 0; n < t.batch; ++n) {
      for (const double value : bias->as<double>()) to = std::fill_n(to, size, value);
    }
  }
  if (y.size() == 0) return context.set_output(0, y);
  const double* const images = x.as<double>().data();
  const double* const weights = w.as<double>().data();
  double* const to = y.write<double>().data();
  const std::int64_t image = t.channels * element_count(t.image);
  const std::int64_t weight = t.channels * t.filters * element_count(t.window.kernel);
  Dims remainders;
  for (std::size_t axis = 0; axis < t.result.size(); ++axis)
    remainders.push_back(std::min(t.window.strides[axis], t.result[axis]));
  const std::int64_t phase_count = element_count(remainders);
  context.for_range(t.batch * t.groups * phase_count, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      Phases phases(t.result.size());
      std::int64_t rest = i % phase_count;
      for (std::size_t axis = phases.size(); axis-- > 0;) {
        phases[axis] = make_phase(t.window, axis, t.image[axis], placing[axis], rest % remainders[axis]);
        rest /= remainders[axis];
      }
      const std::int64_t part = i / phase_count;
      write_phase(context, t, phases, x.type(), images + part * image, weights + part % t.groups * weight,
                  to + part * t.filters * size);
    }
  });
  context.set_output(0, y);
}

}  // namespace

void register_conv_transpose(KernelRegistry& registry) {
  registry.add("ConvTranspose", all_versions(), conv_transpose, {.noise = noise::product});
}

}  // namespace onnxkit::reference
