// BatchNormalization, InstanceNormalization, GroupNormalization, LayerNormalization, RMSNormalization, LpNormalization,
// MeanVarianceNormalization, LRN. Variances are those of the whole population.
//   BatchNormalization: until 6 `is_test` decides between training and test, 7 to 13 the number of outputs, from 14 on `training_mode`. With
//   spatial = 0, until 8, every position of an image has statistics of its own.
//   GroupNormalization: scale and bias are per group in 18, per channel from 21 on.
//   stash_type asks for a precision of the inner computation; all of it is in double here.
#include <cmath>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

struct Statistics {
  double mean = 0, variance = 0;
};

/// Of the elements that `each` calls its argument with.
template <class Each>
Statistics statistics(std::int64_t count, const Each& each) {
  const auto size = static_cast<double>(count);
  ExactSum sum, squares;
  each([&](double x) { sum.add(x); });
  const double mean = sum.value() / size;
  each([&](double x) { squares.add_product(x - mean, x - mean); });
  return {mean, squares.value() / size};
}

Statistics statistics(std::span<const double> x) {
  return statistics(static_cast<std::int64_t>(x.size()), [&](const auto& f) {
    for (const double v : x) f(v);
  });
}

/// The input as [outer, channels, inner].
AxisView channel_view(const KernelContext& context, const Tensor& x) {
  require(x.rank() >= 1, "a scalar has no batch axis");
  if (x.rank() == 1) return {.outer = x.dim(0), .length = 1, .inner = 1};
  AxisView view = view_axis(x.dims(), 1);
  if (context.since() < 9 && context.integer("spatial", 1) == 0) {
    view.length *= view.inner;
    view.inner = 1;
  }
  return view;
}

/// An input with one element for each channel.
std::span<const double> per_channel(const KernelContext& context, std::size_t input, std::int64_t channels) {
  const Tensor& x = context.input(input);
  require(x.size() == channels,
          [&] { return fmt::format("input {} has {} elements instead of {}", input, x.size(), channels); });
  return x.as<double>();
}

/// y = (x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + bias[c].
Tensor normalize_channels(const KernelContext& context, const Tensor& x, AxisView view, const double* mean,
                          const double* variance) {
  const std::span<const double> scale = per_channel(context, 1, view.length),
                                bias = per_channel(context, 2, view.length);
  const double epsilon = context.real("epsilon");
  Tensor y = context.make_unset(x.type(), x.dims());
  if (x.size() == 0) return y;
  const double* const from = x.as<double>().data();
  double* const to = y.write<double>().data();
  context.for_range(view.outer * view.length, 1 + (1 << 14) / std::max<std::int64_t>(1, view.inner),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t channel = first; channel < last; ++channel) {
                        const auto c = static_cast<std::size_t>(channel % view.length);
                        const double deviation = std::sqrt(variance[c] + epsilon);
                        for (std::int64_t i = channel * view.inner; i < (channel + 1) * view.inner; ++i)
                          to[i] = (from[i] - mean[c]) / deviation * scale[c] + bias[c];
                      }
                    });
  return y;
}

bool is_training(const KernelContext& context) {
  if (context.since() >= 14) return context.integer("training_mode") != 0;
  if (context.since() < 7) return context.integer("is_test") == 0;
  return context.has_output(1) || context.has_output(2) || context.has_output(3) || context.has_output(4);
}

/// Mean and variance of every channel, one after the other.
Tensor channel_statistics(const KernelContext& context, const Tensor& x, AxisView view) {
  Tensor result = context.make(ElementType::float64, {2, view.length});
  const double* const from = x.as<double>().data();
  double* const to = result.write<double>().data();
  context.for_range(view.length, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t c = first; c < last; ++c) {
      const Statistics s = statistics(view.outer * view.inner, [&](const auto& f) {
        for (std::int64_t n = 0; n < view.outer; ++n) {
          const double* const channel = from + (n * view.length + c) * view.inner;
          for (std::int64_t i = 0; i < view.inner; ++i) f(channel[i]);
        }
      });
      to[c] = s.mean;
      to[view.length + c] = s.variance;
    }
  });
  return result;
}

void batch(KernelContext& context) {
  const Tensor& x = context.input(0);
  const AxisView view = channel_view(context, x);
  const std::span<const double> mean = per_channel(context, 3, view.length),
                                variance = per_channel(context, 4, view.length);
  if (!is_training(context)) {
    context.set_output(0, normalize_channels(context, x, view, mean.data(), variance.data()));
    return;
  }
  const Tensor current = channel_statistics(context, x, view);
  const double* const of_batch = current.as<double>().data();
  context.set_output(0, normalize_channels(context, x, view, of_batch, of_batch + view.length));
  const double momentum = context.real("momentum");
  for (const std::size_t k : {0, 1}) {
    const std::span<const double> running = k == 0 ? mean : variance;
    const double* const seen = of_batch + static_cast<std::int64_t>(k) * view.length;
    Tensor updated = context.make(context.input(3 + k).type(), context.input(3 + k).dims()), saved = updated;
    for (std::size_t c = 0; c < running.size(); ++c) {
      updated.write<double>()[c] = running[c] * momentum + seen[c] * (1 - momentum);
      saved.write<double>()[c] = seen[c];
    }
    context.set_output(1 + k, updated);
    if (context.since() < 14) context.set_output(3 + k, saved);
  }
}

/// Every channel, or group of channels, by its own statistics; scale and bias have one element for each `per` elements of one image.
Tensor normalize_groups(const KernelContext& context, const Tensor& x, std::int64_t groups, std::int64_t scales) {
  const std::span<const double> scale = per_channel(context, 1, scales), bias = per_channel(context, 2, scales);
  const double epsilon = context.real("epsilon", 1e-5F);
  Tensor y = context.make(x.type(), x.dims());
  if (x.size() == 0) return y;
  const std::int64_t image = x.size() / x.dim(0), length = image / groups, per = image / scales;
  const double* const from = x.as<double>().data();
  double* const to = y.write<double>().data();
  context.for_range(x.dim(0) * groups, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t g = first; g < last; ++g) {
      const Statistics s = statistics(std::span(from + g * length, static_cast<std::size_t>(length)));
      const double deviation = std::sqrt(s.variance + epsilon);
      for (std::int64_t i = g * length; i < (g + 1) * length; ++i) {
        const auto k = static_cast<std::size_t>(i % image / per);
        to[i] = (from[i] - s.mean) / deviation * scale[k] + bias[k];
      }
    }
  });
  return y;
}

void instance(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() >= 2, "the input has no channels");
  context.set_output(0, normalize_groups(context, x, x.dim(1), x.dim(1)));
}

void group(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() >= 2, "the input has no channels");
  const std::int64_t groups = context.integer("num_groups");
  require(groups > 0 && x.dim(1) % groups == 0, "the number of channels is not divisible by group");
  context.set_output(0, normalize_groups(context, x, groups, context.since() < 21 ? groups : x.dim(1)));
}

/// The input as rows that are normalized: all axes from `axis` on.
AxisView row_view(const KernelContext& context, const Tensor& x) {
  const std::int64_t axis = normalize_axis(context.integer("axis", -1), x.rank());
  const std::span<const std::int64_t> dims = x.dims();
  return {.outer = element_count(dims.first(static_cast<std::size_t>(axis))),
          .length = element_count(dims.subspan(static_cast<std::size_t>(axis))),
          .inner = 1};
}

/// y = f(y, other) where other broadcasts to y.
template <class F>
Tensor combine(const KernelContext& context, const Tensor& y, const Tensor& other, std::string_view what, F f) {
  require(broadcast_dims(y.dims(), other.dims()) == y.dims(),
          [&] { return fmt::format("the {} does not match the normalized axes", what); });
  return map<double, double, double>(context, y, other, y.type(), f);
}

/// Rows (x - mean) / sqrt(mean square of that + epsilon); the mean is left out, as 0, when not `centred`.
struct NormalizedRows {
  Tensor y, mean, inverse_deviation;
};

NormalizedRows normalize_rows(KernelContext& context, const Tensor& x, bool centred) {
  const AxisView rows = row_view(context, x);
  context.sums_over(rows.length);
  const double epsilon = context.real("epsilon");
  NormalizedRows result{context.make_unset(x.type(), x.dims()), context.make(ElementType::float64, {rows.outer}),
                        context.make(ElementType::float64, {rows.outer})};
  const double* const from = x.as<double>().data();
  double* const to = result.y.write<double>().data();
  double* const mean = result.mean.write<double>().data();
  double* const inverse = result.inverse_deviation.write<double>().data();
  context.for_range(
      rows.outer, 1 + (1 << 12) / std::max<std::int64_t>(1, rows.length), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t r = first; r < last; ++r) {
          const std::span<const double> row(from + r * rows.length, static_cast<std::size_t>(rows.length));
          Statistics s;
          if (centred) {
            s = statistics(row);
          } else {
            ExactSum squares;
            for (const double v : row) squares.add_product(v, v);
            s.variance = squares.value() / static_cast<double>(rows.length);
          }
          const double deviation = std::sqrt(s.variance + epsilon);
          for (std::int64_t i = 0; i < rows.length; ++i)
            to[r * rows.length + i] = (from[r * rows.length + i] - s.mean) / deviation;
          mean[r] = s.mean;
          inverse[r] = 1 / deviation;
        }
      });
  return result;
}

constexpr auto times_normalization = [](double a, double b) { return a * b; };
constexpr auto plus_normalization = [](double a, double b) { return a + b; };

/// One number for each row of the input, in the type that stash_type says.
void give_row_statistic(KernelContext& context, std::size_t output, const Tensor& of_rows) {
  Dims dims = context.input(0).dims();
  const auto axis = normalize_axis(context.integer("axis", -1), context.input(0).rank());
  std::fill(dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end(), 1);
  const auto stash = static_cast<ElementType>(context.integer("stash_type", 1));
  require(domain_of(stash) == Domain::real && stash != ElementType::undefined,
          "stash_type is not a floating-point type");
  context.set_output(output, of_rows.reshaped(dims).retyped(stash));
}

void layer(KernelContext& context) {
  const Tensor& x = context.input(0);
  const NormalizedRows rows = normalize_rows(context, x, true);
  Tensor y = combine(context, rows.y, context.input(1), "scale", times_normalization);
  if (const Tensor* bias = context.find_input(2)) y = combine(context, y, *bias, "bias", plus_normalization);
  context.set_output(0, y.retyped(context.input(1).type()));
  give_row_statistic(context, 1, rows.mean);
  give_row_statistic(context, 2, rows.inverse_deviation);
}

void rms(KernelContext& context) {
  const Tensor& scale = context.input(1);
  const NormalizedRows rows = normalize_rows(context, context.input(0), false);
  context.set_output(0, combine(context, rows.y, scale, "scale", times_normalization).retyped(scale.type()));
  if (context.has_output(1)) give_row_statistic(context, 1, rows.inverse_deviation);
}

/// A row of norm 0 stays 0.
void lp(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t p = context.integer("p", 2);
  require(p == 1 || p == 2, "p must be 1 or 2");
  Tensor y = context.make(x.type(), x.dims());
  const std::int64_t axis = normalize_axis(context.integer("axis", -1), x.rank());
  context.sums_over(x.dim(axis));
  for_each_strided_row<double, double>(context, x, y, axis, [p](StridedRow<const double> from, StridedRow<double> to) {
    ExactSum sum;
    for (std::int64_t i = 0; i < from.size(); ++i) {
      if (p == 1)
        sum.add(std::abs(from[i]));
      else
        sum.add_product(from[i], from[i]);
    }
    const double norm = p == 1 ? sum.value() : std::sqrt(sum.value());
    for (std::int64_t i = 0; i < from.size(); ++i) to[i] = norm == 0 ? 0 : from[i] / norm;
  });
  context.set_output(0, y);
}

/// (x - mean) / (deviation + 1e-9), as the function that defines the operator has it.
void mean_variance(KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto axes = normalize_axes(context.integers("axes").value_or(std::vector<std::int64_t>{0, 2, 3}), x.rank());
  const auto statistic = [&](bool deviation) {
    return reduce<double, double>(context, x, axes, true, x.type(), [deviation](const ReductionSlice<double>& slice) {
      const Statistics s = statistics(slice.size(), [&](const auto& f) {
        for (const double v : slice) f(v);
      });
      return deviation ? std::sqrt(s.variance) + double{1e-9F} : s.mean;
    });
  };
  const Tensor centred = combine(context, x, statistic(false), "mean", [](double v, double mean) { return v - mean; });
  context.set_output(0, combine(context, centred, statistic(true), "deviation",
                                [](double v, double deviation) { return v / deviation; }));
}

/// By the squares of neighbouring channels.
void local_response(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() >= 2, "the input has no channels");
  const std::int64_t size = context.integer("size");
  require(size >= 1, "size must be positive");
  const double alpha = context.real("alpha", 1e-4F), beta = context.real("beta", 0.75F), bias = context.real("bias", 1);
  Tensor y = context.make(x.type(), x.dims());
  for_each_strided_row<double, double>(
      context, x, y, 1, [=, &context](StridedRow<const double> from, StridedRow<double> to) {
        constexpr std::int64_t between_checks = 512;
        for (std::int64_t c = 0; c < from.size(); ++c) {
          if (c % between_checks == between_checks - 1) context.check_alive();
          const std::int64_t first = c - std::min(c, (size - 1) / 2),
                             last = c + std::min(from.size() - 1 - c, size / 2);
          ExactSum squares;
          for (std::int64_t i = first; i <= last; ++i) squares.add_product(from[i], from[i]);
          to[c] = from[c] / std::pow(bias + alpha / static_cast<double>(size) * squares.value(), beta);
        }
      });
  context.set_output(0, y);
}

}  // namespace

void register_normalization(KernelRegistry& registry) {
  registry.add("BatchNormalization", all_versions(), batch, {.noise = NoiseRule{.results = 3, .input = 2}});
  registry.add("InstanceNormalization", all_versions(), instance, {.noise = noise::over_image});
  registry.add("GroupNormalization", all_versions(), group, {.noise = noise::over_image});
  registry.add("LayerNormalization", all_versions(), layer, {.noise = noise::along_axis});
  for (const char* op : {"RMSNormalization", "SimplifiedLayerNormalization"})
    registry.add(op, all_versions(), rms, {.noise = noise::along_axis});
  registry.add("LpNormalization", all_versions(), lp, {.noise = noise::along_axis});
  registry.add("MeanVarianceNormalization", all_versions(), mean_variance, {.noise = noise::over_image});
  registry.add("LRN", all_versions(), local_response, {.noise = noise::along_axis});
}

}  // namespace onnxkit::reference
