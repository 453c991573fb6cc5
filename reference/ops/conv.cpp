// Conv, FusedConv, ConvInteger, QLinearConv, DeformConv, CausalConvWithState: filters [M, C/group, k1, ..., kn] over an image
// [N, C, d1, ..., dn]. The versions of an operator differ in their types only; before version 11 auto_pad SAME_* was worded as "the same
// size", which with strides is ceil(size / stride) as well.
#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/base/checked.h"
#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/select.h"
#include "reference/kernels/windows.h"
#include "reference/noise/noise.h"
#include "reference/numerics/arithmetic.h"
#include "reference/numerics/quantize.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

/// The sizes that all convolutions have in common.
struct Convolution {
  std::int64_t batch, groups, channels, filters;  ///< channels and filters of one group
  Windows windows;
  std::int64_t positions, taps;

  Dims result() const {
    Dims dims = positions_of(windows);
    dims.insert(dims.begin(), {batch, groups * filters});
    return dims;
  }
};

Convolution read_convolution(const KernelContext& context, const Tensor& x, const Tensor& w) {
  require(x.rank() >= 3 && w.rank() == x.rank(),
          [&] { return fmt::format("an image of rank {} and filters of rank {} do not match", x.rank(), w.rank()); });
  const std::int64_t groups = context.integer("group", 1);
  require(groups > 0 && x.dim(1) % groups == 0 && w.dim(0) % groups == 0,
          "the numbers of channels and filters must be divisible by group");
  require(w.dim(1) == x.dim(1) / groups, [&] {
    return fmt::format("the filters have {} channels per group, but the image has {}", w.dim(1), x.dim(1) / groups);
  });
  const std::span<const std::int64_t> image(x.dims()), kernel(w.dims());
  const WindowAttributes window = read_window(context, kernel.size() - 2, kernel.subspan(2));
  Convolution c{.batch = x.dim(0),
                .groups = groups,
                .channels = w.dim(1),
                .filters = w.dim(0) / groups,
                .windows = place_windows(window, image.subspan(2)),
                .positions = 0,
                .taps = 0};
  c.positions = position_count(c.windows);
  c.taps = tap_count(c.windows);
  return c;
}

/// Calls body(image, group) for each; on several threads when there are enough of them.
template <class Body>
void for_each_group(const KernelContext& context, const Convolution& c, const Body& body) {
  const std::int64_t parts = c.batch * c.groups;
  const auto run = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) body(i / c.groups, i % c.groups);
  };
  if (parts >= 2 * context.threads().threads())
    context.for_range(parts, 1, run);
  else
    run(0, parts);
}

/// Starts with the bias, or with nothing.
Tensor start_result(const KernelContext& context, const Convolution& c, ElementType type, const Tensor* bias) {
  Tensor y = context.make_unset(type, c.result());
  if (!bias) return y;
  require(bias->dims() == Dims{c.groups * c.filters}, "there must be one bias per filter");
  const std::span<const double> from = bias->as<double>();
  double* to = y.write<double>().data();
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (const double value : from) to = std::fill_n(to, c.positions, value);
  }
  return y;
}

Tensor convolve(const KernelContext& context, const Tensor& x, const Tensor& w, const Tensor* bias) {
  const Convolution c = read_convolution(context, x, w);
  Tensor y = start_result(context, c, x.type(), bias);
  if (y.size() == 0) return y;
  const double* const images = x.as<double>().data();
  const double* const weights = w.as<double>().data();
  double* const to = y.write<double>().data();
  const std::int64_t channel_size = image_size(c.windows), rows = c.channels * c.taps;
  for_each_group(context, c, [&](std::int64_t n, std::int64_t group) {
    const std::int64_t part = n * c.groups + group;
    contract_windows(context, x.type(), images + part * c.channels * channel_size, c.channels, c.windows,
                     row_major(weights + group * c.filters * rows, c.filters, rows),
                     row_major(to + part * c.filters * c.positions, c.filters, c.positions), bias != nullptr);
  });
  return y;
}

void conv(KernelContext& context) {
  context.set_output(0, convolve(context, context.input(0), context.input(1), context.find_input(2)));
}

double activated(const std::string_view name, const std::vector<float>& params, double x) {
  const auto param = [&](std::size_t i, double fallback) { return i < params.size() ? params[i] : fallback; };
  if (name == "Relu") return x > 0 ? x : 0 * x;
  if (name == "Tanh") return std::tanh(x);
  if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "LeakyRelu") return x < 0 ? param(0, 0.01) * x : x;
  if (name == "Clip") return std::min(std::max(x, param(0, -INFINITY)), param(1, INFINITY));
  return std::clamp(param(0, 0.2) * x + param(1, 0.5), 0.0, 1.0);
}

/// Conv, then the sum with Z, then an activation.
void fused_conv(KernelContext& context) {
  Tensor y = convolve(context, context.input(0), context.input(1), context.find_input(2));
  if (const Tensor* z = context.find_input(3)) {
    require(z->dims() == y.dims() && z->type() == y.type(), "Z does not have the shape of the convolution");
    y = map<double, double, double>(context, y, *z, y.type(), [](double a, double b) { return a + b; });
  }
  const std::string_view name = context.string("activation");
  if (!name.empty()) {
    const bool is_known = name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "LeakyRelu" ||
                          name == "Clip" || name == "HardSigmoid";
    require(is_known, [&] { return fmt::format("unknown activation {}", name); });
    const std::vector<float> params = context.reals("activation_params").value_or(std::vector<float>());
    y = map<double, double>(context, y, y.type(), [&](double v) { return activated(name, params, v); });
  }
  context.set_output(0, y);
}

/// Products and sums of 8-bit integers are exact in double.
void conv_integer(KernelContext& context) {
  const Tensor x = without_zero_point(context, context.input(0), context.find_input(2), 0);
  const Tensor w = without_zero_point(context, context.input(1), context.find_input(3), 0);
  const Tensor y = convolve(context, x, w, nullptr);
  context.set_output(0, map<double, std::int64_t>(context, y, ElementType::int32,
                                                  [](double v) { return truncate_to<std::int64_t>(v); }));
}

void qlinear_conv(KernelContext& context) {
  const Tensor x = without_zero_point(context, context.input(0), context.find_input(2), 0);
  const Tensor w = without_zero_point(context, context.input(3), context.find_input(5), 0);
  Tensor bias;
  if (const Tensor* given = context.find_input(8)) bias = as_reals(context, *given);
  const Tensor y = convolve(context, x, w, context.has_input(8) ? &bias : nullptr);
  const std::vector<double> w_scales = context.input(4).reals();
  const std::int64_t filters = w.dim(0);
  require(w_scales.size() == 1 || static_cast<std::int64_t>(w_scales.size()) == filters,
          "there must be one scale per filter, or one for all");
  const double x_scale = context.input(1).real(), y_scale = context.input(6).real();
  Dims by_filter(static_cast<std::size_t>(y.rank() - 1), 1);
  by_filter[0] = static_cast<std::int64_t>(w_scales.size());
  Tensor scales = context.make(ElementType::float64, by_filter);
  std::transform(w_scales.begin(), w_scales.end(), scales.write<double>().begin(),
                 [x_scale](double w_scale) { return x_scale * w_scale; });
  const Tensor scaled = map<double, double, double>(context, y, scales, ElementType::float64,
                                                    [y_scale](double v, double scale) { return v * scale / y_scale; });
  context.set_output(0, quantized(context, scaled, context.input(7)));
}

/// x at a position between its elements, linear along each axis; elements outside count as zero.
double sample(const double* x, std::span<const WindowAxis> axes, const double* at) {
  const double low = std::floor(*at), part = *at - low;
  double sum = 0;
  std::int64_t step = 1;
  for (const WindowAxis& inner : axes.subspan(1)) step *= inner.image;
  for (const int side : {0, 1}) {
    const double weight = side == 0 ? 1 - part : part, neighbour = low + side;
    if (weight == 0 || !(neighbour >= 0 && neighbour < static_cast<double>(axes.front().image))) continue;
    const double* const from = x + static_cast<std::int64_t>(neighbour) * step;
    sum += weight * (axes.size() == 1 ? *from : sample(from, axes.subspan(1), at + 1));
  }
  return sum;
}

/// Offsets [offset groups, taps, axes, positions] and mask [offset groups, taps, positions] of one image.
struct Deformation {
  const double* offsets;
  const double* mask;  ///< may be null
  const Noise* noise;  ///< may be null
  std::int64_t first;  ///< number of the first offset
};

/// What every tap of the windows at the positions [first, first + count) sees of one channel.
void fill_deformed(const Convolution& c, const double* channel, Deformation d, std::int64_t first, std::int64_t count,
                   double* columns) {
  const std::size_t axes = c.windows.size();
  std::vector<std::int64_t> tap(axes);
  std::vector<double> at(axes);
  for (std::int64_t k = 0; k < c.taps; ++k) {
    std::int64_t rest = k;
    for (std::size_t axis = axes; axis-- > 0;) {
      tap[axis] = rest % c.windows[axis].taps;
      rest /= c.windows[axis].taps;
    }
    std::vector<std::int64_t> position = position_at(c.windows, first);
    for (std::int64_t p = first; p < first + count; ++p, next_position(c.windows, position)) {
      for (std::size_t axis = 0; axis < axes; ++axis) {
        const WindowAxis& a = c.windows[axis];
        const std::int64_t offset =
            (k * static_cast<std::int64_t>(axes) + static_cast<std::int64_t>(axis)) * c.positions + p;
        at[axis] = static_cast<double>(position[axis] * a.step + a.first + tap[axis] * a.spacing) + d.offsets[offset];
        if (d.noise) at[axis] = d.noise->position(at[axis], static_cast<std::uint64_t>(d.first + offset));
      }
      const double seen = sample(channel, c.windows, at.data());
      *columns++ = d.mask ? seen * d.mask[k * c.positions + p] : seen;
    }
  }
}

void deform_conv(KernelContext& context) {
  const Tensor &x = context.input(0), &w = context.input(1), &offsets = context.input(2);
  const Tensor* mask = context.find_input(4);
  const Convolution c = read_convolution(context, x, w);
  const std::int64_t channels = x.dim(1), offset_groups = context.integer("offset_group", 1);
  require(offset_groups > 0 && channels % offset_groups == 0,
          "the number of channels is not divisible by offset_group");
  Dims expected = c.result();
  const std::array<std::int64_t, 2> kinds = {offset_groups, c.taps};
  expected[1] = element_count(kinds);
  require(!mask || mask->dims() == expected, "the mask must have one factor per kernel tap and output position");
  const std::int64_t axes = static_cast<std::int64_t>(c.windows.size()), per_image = expected[1] * c.positions;
  const std::array<std::int64_t, 2> coordinates = {expected[1], axes};
  expected[1] = element_count(coordinates);
  require(offsets.dims() == expected, "there must be one offset per axis, kernel tap and output position");
  const Tensor* bias = context.find_input(3);
  Tensor y = start_result(context, c, x.type(), bias);
  if (y.size() == 0) return context.set_output(0, y);
  double* const to = y.write<double>().data();
  const std::int64_t channel_size = image_size(c.windows), rows = c.channels * c.taps;
  for_each_group(context, c, [&](std::int64_t n, std::int64_t group) {
    const auto fill = [&](std::int64_t in_group, std::int64_t first, std::int64_t count, double* columns) {
      const std::int64_t channel = group * c.channels + in_group, offset_group = channel / (channels / offset_groups);
      const std::int64_t start = n * per_image + offset_group * c.taps * c.positions;
      const Deformation d{offsets.as<double>().data() + start * axes,
                          mask ? mask->as<double>().data() + start : nullptr, context.noise(), start * axes};
      fill_deformed(c, x.as<double>().data() + (n * channels + channel) * channel_size, d, first, count, columns);
    };
    contract_columns(context, x.type(), c.channels,
                     row_major(w.as<double>().data() + group * c.filters * rows, c.filters, rows),
                     row_major(to + (n * c.groups + group) * c.filters * c.positions, c.filters, c.positions),
                     bias != nullptr, fill);
  });
  context.set_output(0, y);
}

/// Where values of channels lie over time: [batch, channels, length], or [batch, length, channels].
struct ChannelLines {
  std::int64_t channels, length;
  bool is_channels_last;

  std::size_t place(std::int64_t line, std::int64_t time) const {
    const std::int64_t batch = line / channels, channel = line % channels;
    return static_cast<std::size_t>(is_channels_last ? (batch * length + time) * channels + channel
                                                     : line * length + time);
  }
  void read(const Tensor& from, std::int64_t line, double* to) const {
    for (std::int64_t time = 0; time < length; ++time) to[time] = from.as<double>()[place(line, time)];
  }
  void write(std::span<double> to, std::int64_t line, const double* from) const {
    for (std::int64_t time = 0; time < length; ++time) to[place(line, time)] = from[time];
  }
};

/// Depthwise along one axis over the past and the present values; the last of them are the next state. com.microsoft adds dilations, and channels
/// behind the axis of time.
void causal_conv(KernelContext& context) {
  const Tensor &x = context.input(0), &w = context.input(1);
  const bool is_last = context.integer("channels_last") != 0;
  require(context.integer("ndim", 1) == 1 && context.integer("state_window") == 0,
          "several axes and windows of states are not supported");
  require(is_last ? x.rank() >= 3 : x.rank() == 3, "the input has no axes of batch, channels and length");
  const std::int64_t batch = x.dim(0), length = x.dim(is_last ? 1 : 2), dilation = context.integer("dilation", 1);
  const std::int64_t channels = is_last ? element_count(std::span(x.dims()).subspan(2)) : x.dim(1);
  require(w.rank() == 3 && w.dim(0) == channels && w.dim(1) == 1 && w.dim(2) > 0,
          "there must be one filter per channel");
  require(dilation >= 1, "dilation must be positive");
  const Tensor* bias = context.find_input(2);
  require(!bias || bias->dims() == Dims{channels}, "there must be one bias per channel");
  const std::int64_t kernel = w.dim(2);
  const auto reach = checked_mul(kernel - 1, dilation);
  require(reach.has_value(), "the filters reach too far");
  const std::int64_t held = *reach;
  Dims state_dims = x.dims();
  state_dims[is_last ? 1 : 2] = held;
  const Tensor past = context.has_input(3) ? context.input(3) : context.make(x.type(), state_dims);
  require(past.dims() == state_dims && past.type() == x.type(),
          "the past state must hold the last values of each channel, (k - 1) * dilation of them");
  const std::string_view activation = context.string("activation");
  const bool silu = activation == "silu" || activation == "swish";
  const Noise* const noise = context.noise();
  const ChannelLines now{channels, length, is_last}, before{channels, held, is_last};
  Tensor y = context.make(x.type(), x.dims()), state = context.make(x.type(), state_dims);
  const std::span<double> to = y.write<double>(), to_state = state.write<double>();
  context.for_range(batch * channels, 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> all(static_cast<std::size_t>(held + length)), sums(static_cast<std::size_t>(length));
    for (std::int64_t line = first; line < last; ++line) {
      before.read(past, line, all.data());
      now.read(x, line, all.data() + held);
      const double* const filter = w.as<double>().data() + line % channels * kernel;
      const double start = bias ? bias->as<double>()[static_cast<std::size_t>(line % channels)] : 0;
      for (std::int64_t t = 0; t < length; ++t) {
        double sum = start, squares = start * start;
        for (std::int64_t k = 0; k < kernel; ++k) {
          const double term = filter[k] * all[static_cast<std::size_t>(t + k * dilation)];
          sum += term, squares += term * term;
        }
        if (noise) sum += noise->error_of_sum(static_cast<std::uint64_t>(line * length + t), sum, squares, kernel);
        sums[static_cast<std::size_t>(t)] = silu ? sum / (1 + std::exp(-sum)) : sum;
      }
      now.write(to, line, sums.data());
      before.write(to_state, line, all.data() + length);
    }
  });
  context.set_output(0, y);
  context.set_output(1, state);
}

}  // namespace

void register_conv(KernelRegistry& registry) {
  registry.add("Conv", all_versions(), conv, {.noise = noise::convolution});
  registry.add("com.microsoft", "FusedConv", all_versions(), fused_conv, {.noise = noise::convolution});
  registry.add("ConvInteger", all_versions(), conv_integer, {.is_quantizing = true});
  registry.add("QLinearConv", all_versions(), qlinear_conv, {.is_quantizing = true});
  registry.add("DeformConv", all_versions(), deform_conv, {.noise = noise::ordinary});
  for (const char* domain : {"", "com.microsoft"})
    registry.add(domain, "CausalConvWithState", all_versions(), causal_conv, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
