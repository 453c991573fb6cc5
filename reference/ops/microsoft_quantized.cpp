// com.microsoft: operators on quantized tensors. Each is that of ai.onnx on the reals that scale and zero point stand for, quantized again.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"
#include "reference/kernels/windows.h"
#include "reference/numerics/quantize.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

void set_quantized(KernelContext& context, const Tensor& reals, std::size_t scale_input, std::size_t zero_input) {
  context.set_output(0,
                     quantized(context, reals, affine_at(context, scale_input, zero_input), context.input(0).type()));
}

template <auto f>
void binary(KernelContext& context) {
  const Tensor a = dequantized(context, context.input(0), affine_at(context, 1, 2));
  const Tensor b = dequantized(context, context.input(3), affine_at(context, 4, 5));
  set_quantized(context, map_reals(context, a, b, real_type, f), 6, 7);
}

constexpr auto plus_quantized = [](double a, double b) { return a + b; };
constexpr auto times_quantized = [](double a, double b) { return a * b; };

void sigmoid_quantized(KernelContext& context) {
  const Tensor x = dequantized(context, context.input(0), affine_at(context, 1, 2));
  set_quantized(context, map_reals(context, x, real_type, [](double v) { return 1 / (1 + std::exp(-v)); }), 3, 4);
}

void leaky_relu_quantized(KernelContext& context) {
  const double alpha = context.real("alpha", 0.01F);
  const Tensor x = dequantized(context, context.input(0), affine_at(context, 1, 2));
  set_quantized(context, map_reals(context, x, real_type, [alpha](double v) { return v < 0 ? alpha * v : v; }), 3, 4);
}

void softmax_quantized_row(StridedRow<const double> x, StridedRow<double> y) {
  double most = x[0], sum = 0;
  for (std::int64_t i = 1; i < x.size(); ++i) most = std::max(most, x[i]);
  for (std::int64_t i = 0; i < x.size(); ++i) sum += y[i] = std::exp(x[i] - most);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] /= sum;
}

/// The attribute opset tells whether `axis` is one axis (13 on) or splits the tensor into rows.
void softmax_quantized(KernelContext& context) {
  Tensor x = dequantized(context, context.input(0), affine_at(context, 1, 2));
  const Dims dims = x.dims();
  const bool one_axis = context.integer("opset") >= 13;
  std::int64_t axis = normalize_axis(context.integer("axis", one_axis ? -1 : 1), std::max<std::int64_t>(x.rank(), 1));
  if (!one_axis || x.rank() == 0) {
    const AxisView view = x.rank() == 0 ? AxisView() : view_axis(dims, axis);
    x = x.reshaped({view.outer, view.length * view.inner});
    axis = 1;
  }
  Tensor y = context.make(real_type, x.dims());
  if (x.size() > 0) for_each_strided_row<double, double>(context, x, y, axis, softmax_quantized_row);
  set_quantized(context, y.reshaped(dims), 3, 4);
}

/// In between a float32, as of DequantizeLinear and QuantizeLinear.
Tensor requantized(const KernelContext& context, const Tensor& x, Affine from, Affine to, ElementType type) {
  const Tensor reals = map_reals(context, dequantized(context, x, from), real_type,
                                 [](double real) { return static_cast<double>(static_cast<float>(real)); });
  return quantized(context, reals, to, type);
}

/// Inputs come in threes, tensor, scale and zero point, behind the scale and zero point of the result.
void concatenate(KernelContext& context) {
  require(context.input_count() >= 5 && context.input_count() % 3 == 2, "the inputs must come in groups of three");
  const Affine to = affine_at(context, 0, 1);
  const ElementType type = context.input(1).type();
  std::vector<Tensor> parts;
  for (std::size_t i = 2; i < context.input_count(); i += 3) {
    const Affine from = affine_at(context, i + 1, i + 2);
    const Tensor& part = context.input(i);
    const bool same = from.scale == to.scale && from.zero == to.zero && part.type() == type;
    parts.push_back(same ? part : requantized(context, part, from, to, type));
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& part : parts) pointers.push_back(&part);
  context.set_output(0, concat(context, pointers, normalize_axis(context.integer("axis"), parts.front().rank())));
}

void where_quantized(KernelContext& context) {
  const ElementType type = context.input(1).type();
  const Affine to = affine_at(context, 7, 8);
  const Tensor x = as_reals(context, requantized(context, context.input(1), affine_at(context, 2, 3), to, type));
  const Tensor y = as_reals(context, requantized(context, context.input(4), affine_at(context, 5, 6), to, type));
  const Tensor z = map<bool, double, double, double>(context, context.input(0), x, y, real_type,
                                                     [](bool c, double a, double b) { return c ? a : b; });
  context.set_output(0, quantized(context, z, Affine(), type));
}

void reduce_mean_quantized(KernelContext& context) {
  const Tensor x = dequantized(context, context.input(0), affine_at(context, 1, 2));
  std::vector<std::int64_t> axes = context.integers("axes").value_or(std::vector<std::int64_t>());
  if (axes.empty()) axes = identity_index(x.rank());
  const Tensor mean =
      reduce<double, double>(context, x, normalize_axes(axes, x.rank()), context.integer("keepdims", 1) == 1, real_type,
                             [](const ReductionSlice<double>& slice) {
                               double sum = 0;
                               for (const double v : slice) sum += v;
                               return sum / static_cast<double>(slice.size());
                             });
  set_quantized(context, mean, 3, 4);
}

void multiply_integers(KernelContext& context) {
  const auto offset = [&](std::size_t x, std::size_t zero) {
    const Tensor* given = context.find_input(zero);
    return dequantized(context, context.input(x), Affine{1, given ? given->real() : 0});
  };
  const Tensor product = map_reals(context, offset(0, 1), offset(2, 3), real_type, times_quantized);
  context.set_output(0, quantized(context, product, Affine(), ElementType::int32));
}

// ---- quantization itself

/// A scale or zero point along the axis, if there is one, as an operand that broadcasts against x.
Tensor along_axis(const KernelContext& context, const Tensor& x, const Tensor& given) {
  if (given.size() == 1) return given.reshaped({});
  const std::int64_t axis = normalize_axis(context.integer("axis", 1), x.rank());
  require(given.size() == x.dim(axis), "there must be one scale and zero point per slice along the axis");
  Dims dims(static_cast<std::size_t>(x.rank()), 1);
  dims[static_cast<std::size_t>(axis)] = given.size();
  return given.reshaped(std::move(dims));
}

void quantize_quantized(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor* zero = context.find_input(2);
  const ElementType type = zero ? zero->type() : ElementType::uint8;
  // As of ai.onnx's operator: ties are decided by the quotient of the scale's type.
  const auto narrow = [exact = context.is_unrounded()](double quotient) {
    return exact ? quotient : static_cast<double>(static_cast<float>(quotient));
  };
  const Tensor quotient =
      map_reals(context, as_reals(context, x), as_reals(context, along_axis(context, x, context.input(1))), real_type,
                [narrow](double v, double s) { return narrow(v / s); });
  const Tensor whole =
      map_reals(context, over_edges(context, quotient, type), real_type, [](double v) { return std::nearbyint(v); });
  const Tensor shifted = zero ? sum_of(context, whole, along_axis(context, x, *zero)) : whole;
  context.set_output(0, quantized(context, shifted, Affine(), type));
}

void dequantize_quantized(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor scale = along_axis(context, x, context.input(1));
  const Tensor* given = context.find_input(2);
  const Tensor zero = given ? along_axis(context, x, *given) : Tensor();
  context.set_output(0, dequantized(context, x, &scale, given ? &zero : nullptr).retyped(scale.type()));
}

// ---- pictures, with the channels second or last

Tensor channels_to_front(const KernelContext& context, const Tensor& x) {
  require(x.rank() >= 3, "the input has no channel and spatial axes");
  std::vector<std::int64_t> axes = identity_index(x.rank());
  std::rotate(axes.begin() + 1, axes.end() - 1, axes.end());
  return permute(context, x, axes);
}
Tensor channels_to_back(const KernelContext& context, const Tensor& x) {
  std::vector<std::int64_t> axes = identity_index(x.rank());
  std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return permute(context, x, axes);
}

/// Output of f on the picture with its channels second, put back where they were.
template <class F>
Tensor on_channels_first(const KernelContext& context, const Tensor& x, F f) {
  if (context.integer("channels_last") == 0) return f(x);
  return channels_to_back(context, f(channels_to_front(context, x)));
}

Windows windows_over(const KernelContext& context, const Tensor& x, std::span<const std::int64_t> filter = {}) {
  require(x.rank() >= 3, "the input has no spatial axes");
  const std::span<const std::int64_t> image = std::span(x.dims()).subspan(2);
  return place_windows(read_window(context, image.size(), filter), image);
}

/// y = f(channel of x, position) for every window on every channel.
template <class F>
Tensor pooled_quantized(const KernelContext& context, const Tensor& x, const Windows& windows, F f) {
  Dims dims = positions_of(windows);
  dims.insert(dims.begin(), {x.dim(0), x.dim(1)});
  Tensor y = context.make(real_type, std::move(dims));
  const std::int64_t positions = position_count(windows), size = image_size(windows);
  const double* const from = x.as<double>().data();
  const std::span<double> to = y.write<double>();
  context.for_range(
      positions == 0 ? 0 : x.dim(0) * x.dim(1), 1 + 4096 / (1 + positions), [&](std::int64_t first, std::int64_t last) {
        std::vector<std::int64_t> position(windows.size());
        for (std::int64_t i = first * positions; i < last * positions; ++i, next_position(windows, position))
          to[static_cast<std::size_t>(i)] = f(from + i / positions * size, position.data());
      });
  return y;
}

/// The mean of a window's elements in the picture, or of those in the padding, too.
Tensor mean_of_windows(const KernelContext& context, const Tensor& x) {
  const Windows windows = windows_over(context, x);
  Windows counted = windows;
  if (context.integer("count_include_pad") != 0) {
    for (WindowAxis& axis : counted) {
      axis.image += axis.behind - axis.first;
      axis.first = 0;
    }
  }
  return pooled_quantized(context, x, windows, [&](const double* channel, const std::int64_t* position) {
    double sum = 0, count = 1;
    for_each_tap(windows, position, 0, [&](std::int64_t at) { sum += channel[at]; });
    for (std::size_t axis = 0; axis < counted.size(); ++axis) {
      const auto inside = counted[axis].inside(position[axis]);
      count *= static_cast<double>(inside.second - inside.first);
    }
    return count == 0 ? 0 : sum / count;
  });
}

Tensor convolved(const KernelContext& context, const Tensor& x, const Tensor& weight, const Tensor* bias) {
  require(x.rank() == weight.rank(), "image and weight differ in rank");
  const Windows windows = windows_over(context, x, std::span(weight.dims()).subspan(2));
  const std::int64_t groups = context.integer("group", 1), depth = weight.dim(1);
  require(groups >= 1 && weight.dim(0) % groups == 0 && x.dim(1) % groups == 0 && x.dim(1) / groups == depth,
          "the weight does not match the number of channels");
  const std::int64_t filters = weight.dim(0) / groups, positions = position_count(windows), size = image_size(windows);
  Dims dims = positions_of(windows);
  dims.insert(dims.begin(), {x.dim(0), weight.dim(0)});
  Tensor y = context.make(real_type, std::move(dims));
  if (y.size() == 0) return y;
  const std::span<double> to = y.write<double>();
  for (std::size_t i = 0; bias && i < to.size(); ++i)
    to[i] = bias->as<double>()[i / static_cast<std::size_t>(positions) % static_cast<std::size_t>(weight.dim(0))];
  const std::int64_t columns = depth * tap_count(windows);
  for (std::int64_t part = 0; part < x.dim(0) * groups; ++part) {
    contract_windows(context, real_type, x.as<double>().data() + part * depth * size, depth, windows,
                     row_major(weight.as<double>().data() + part % groups * filters * columns, filters, columns),
                     row_major(to.data() + part * filters * positions, filters, positions), bias != nullptr);
  }
  return y;
}

void global_average_pool_quantized(KernelContext& context) {
  const Tensor x = dequantized(context, context.input(0), affine_at(context, 1, 2));
  require(x.rank() >= 3, "the input has no spatial axes");
  const bool last = context.integer("channels_last") != 0;
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 1; axis < x.rank(); ++axis) {
    if (axis != (last ? x.rank() - 1 : 1)) axes.push_back(axis);
  }
  const Tensor mean =
      reduce<double, double>(context, x, axes, true, real_type, [](const ReductionSlice<double>& slice) {
        double sum = 0;
        for (const double v : slice) sum += v;
        return sum / static_cast<double>(slice.size());
      });
  set_quantized(context, mean, 3, 4);
}

/// The zero point is added before the sum is rounded.
void average_pool_quantized(KernelContext& context) {
  const Tensor x = dequantized(context, context.input(0), affine_at(context, 1, 2));
  const Affine to = affine_at(context, 3, 4);
  const Tensor mean =
      on_channels_first(context, x, [&](const Tensor& image) { return mean_of_windows(context, image); });
  const Tensor shifted = map_reals(context, mean, real_type, [to](double v) { return v / to.scale + to.zero; });
  context.set_output(0, quantized(context, shifted, Affine(), context.input(0).type()));
}

void nhwc_max_pool(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor image = channels_to_front(context, as_reals(context, x));
  const Windows windows = windows_over(context, image);
  const Tensor most =
      pooled_quantized(context, image, windows, [&](const double* channel, const std::int64_t* position) {
        double greatest = static_cast<double>(least_of(x.type()));
        for_each_tap(windows, position, 0, [&](std::int64_t at) { greatest = std::max(greatest, channel[at]); });
        return greatest;
      });
  context.set_output(0, quantized(context, channels_to_back(context, most), Affine(), x.type()));
}

/// One for each filter, or one for all, as [M, 1, ...].
Tensor for_filters(const Tensor& given, const Tensor& weight) {
  if (given.size() == 1) return given.reshaped({});
  require(given.size() == weight.dim(0), "there must be one scale and zero point per filter");
  Dims dims(static_cast<std::size_t>(weight.rank()), 1);
  dims[0] = given.size();
  return given.reshaped(std::move(dims));
}

void convolve_quantized(KernelContext& context) {
  const Tensor& w = context.input(3);
  require(w.rank() >= 3, "the weight has no window");
  const double x_scale = context.input(1).real();
  const Tensor x = dequantized(context, context.input(0), affine_at(context, 1, 2));
  const Tensor scale = for_filters(context.input(4), w), zero = for_filters(context.input(5), w);
  const Tensor weight = dequantized(context, w, &scale, &zero);
  Tensor bias;
  if (const Tensor* given = context.find_input(8)) {
    require(given->rank() == 1 && given->size() == w.dim(0), "there must be one bias per filter");
    const Tensor by = context.input(4).size() == 1 ? context.input(4).reshaped({}) : context.input(4);
    bias = map_reals(context, as_reals(context, *given), as_reals(context, by), real_type,
                     [x_scale](double v, double s) { return v * s * x_scale; });
  }
  const Tensor y = on_channels_first(context, x, [&](const Tensor& image) {
    return convolved(context, image, weight, context.has_input(8) ? &bias : nullptr);
  });
  context.set_output(0, quantized(context, y, affine_at(context, 6, 7), context.input(7).type()));
}

}  // namespace

void register_microsoft_quantized(KernelRegistry& registry) {
  const auto add = [&registry](const char* op, Kernel kernel, const KernelTraits& traits = {}) {
    registry.add(microsoft_domain, op, all_versions(), kernel, traits);
  };
  add("QLinearAdd", binary<plus_quantized>, {.is_quantizing = true});
  add("QLinearMul", binary<times_quantized>, {.is_quantizing = true});
  add("QLinearSigmoid", sigmoid_quantized, {.is_quantizing = true});
  add("QLinearLeakyRelu", leaky_relu_quantized, {.is_quantizing = true});
  add("QLinearSoftmax", softmax_quantized, {.is_quantizing = true});
  add("QLinearConcat", concatenate, {.is_quantizing = true});
  add("QLinearWhere", where_quantized, {.is_quantizing = true});
  add("QLinearReduceMean", reduce_mean_quantized, {.is_quantizing = true});
  add("QLinearGlobalAveragePool", global_average_pool_quantized, {.is_quantizing = true});
  add("QLinearAveragePool", average_pool_quantized, {.is_quantizing = true});
  add("QLinearConv", convolve_quantized, {.is_quantizing = true});
  add("NhwcMaxPool", nhwc_max_pool);
  add("MulInteger", multiply_integers, {.is_quantizing = true});
  add("QuantizeLinear", quantize_quantized, {.noise = noise::quantized, .is_quantizing = true});
  add("DequantizeLinear", dequantize_quantized, {.noise = noise::ordinary, .is_quantizing = true});
}

}  // namespace onnxkit::reference
