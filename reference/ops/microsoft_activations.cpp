// com.microsoft: forms of Gelu and sums with a bias in front of an activation.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"
#include "reference/numerics/random.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

double exact_gelu_microsoft(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

/// f(x), or f(x + bias) when there is a second input.
template <auto f>
void with_bias(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor* bias = context.find_input(1);
  const Tensor sum = bias ? sum_of(context, x, *bias) : x;
  require(sum.dims() == x.dims(), "the bias does not broadcast to the input");
  context.set_output(0, map_reals(context, sum, x.type(), f));
}

void quick_gelu(KernelContext& context) {
  const Tensor& x = context.input(0);
  const double alpha = context.real("alpha", 1.702F);
  context.set_output(0, map_reals(context, x, x.type(), [alpha](double v) { return v / (1 + std::exp(-alpha * v)); }));
}

void bias_add(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor sum = sum_of(context, sum_of(context, x, context.input(1)), context.input(2));
  require(sum.dims() == x.dims(), "bias or skip do not broadcast to the input");
  context.set_output(0, sum.retyped(x.type()));
}

/// The left half of x + bias times Gelu of the right one.
void bias_split_gelu(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor sum = sum_of(context, x, context.input(1));
  require(x.rank() > 0 && sum.dims() == x.dims() && x.dims().back() % 2 == 0,
          "the bias does not match, or the last axis cannot be halved");
  const std::int64_t axis = x.rank() - 1, half = x.dims().back() / 2;
  context.set_output(
      0, map_reals(context, slice_axis(context, sum, axis, 0, half), slice_axis(context, sum, axis, half, 2 * half),
                   x.type(), [](double left, double right) { return left * exact_gelu_microsoft(right); }));
}

/// Rows are all axes from `axis` on. A bias with fewer elements repeats for each run of outer axes, or (is_inner_broadcast) lacks the axes just
/// in front of `axis`.
void bias_softmax(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& bias = context.input(1);
  const std::int64_t axis = normalize_axis(context.integer("axis", 1), x.rank());
  const AxisView view = view_axis(x.dims(), axis);
  const std::int64_t length = view.length * view.inner;
  require(length == 0 || (bias.size() > 0 && bias.size() % length == 0), "the bias does not consist of whole rows");
  const std::int64_t rows = view.outer, bias_rows = length == 0 ? 1 : bias.size() / length;
  require(rows % bias_rows == 0, "the rows of the bias do not repeat evenly");
  const bool inner = context.integer("is_inner_broadcast") != 0;
  Tensor y = context.make(x.type(), x.dims());
  const std::span<const double> in = x.as<double>(), add = bias.as<double>();
  const std::span<double> out = y.write<double>();
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t b = inner ? r / (rows / bias_rows) : r % bias_rows;
    const auto at = static_cast<std::size_t>(r * length), from = static_cast<std::size_t>(b * length);
    const auto size = static_cast<std::size_t>(length);
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < size; ++i) most = std::max(most, out[at + i] = in[at + i] + add[from + i]);
    for (std::size_t i = 0; i < size; ++i) sum += out[at + i] = std::exp(out[at + i] - most);
    for (std::size_t i = 0; i < size; ++i) out[at + i] /= sum;
  }
  context.set_output(0, std::move(y));
}

/// Dropout of data + bias, then + residual.
void bias_dropout(KernelContext& context) {
  const Tensor& x = context.input(0);
  Tensor y = sum_of(context, x, context.input(1));
  require(y.dims() == x.dims(), "the bias does not broadcast to the input");
  const Tensor* given = context.find_input(3);
  const Tensor* training = context.find_input(4);
  const double ratio = training && training->integer() != 0 ? (given ? given->real() : 0.5) : 0;
  require(ratio >= 0 && ratio < 1, "the ratio is not in [0, 1)");
  Tensor mask = context.make(ElementType::boolean, x.dims());
  const std::span<bool> kept = mask.write<bool>();
  std::fill(kept.begin(), kept.end(), true);
  if (ratio > 0) {
    auto random = context.random();
    const std::span<double> all = y.write<double>();
    for (std::size_t i = 0; i < all.size(); ++i) {
      kept[i] = draw_uniform(random) >= ratio;
      all[i] = kept[i] ? all[i] / (1 - ratio) : 0;
    }
  }
  if (const Tensor* residual = context.find_input(2)) y = sum_of(context, y, *residual);
  require(y.dims() == x.dims(), "the residual and the data have different shapes");
  context.set_output(0, y.retyped(x.type()));
  context.set_output(1, std::move(mask));
}

}  // namespace

void register_microsoft_activations(KernelRegistry& registry) {
  const auto add = [&registry](const char* op, Kernel kernel, const KernelTraits& traits = {}) {
    registry.add(microsoft_domain, op, all_versions(), kernel, traits);
  };
  add("Gelu", with_bias<exact_gelu_microsoft>, {.noise = noise::gelu});
  add("BiasGelu", with_bias<exact_gelu_microsoft>, {.noise = noise::gelu});
  add("FastGelu", with_bias<tanh_gelu_microsoft>, {.noise = noise::gelu});
  add("QuickGelu", quick_gelu, {.noise = NoiseRule{.results = 4, .input = 1, .absolute = 1}});
  add("BiasAdd", bias_add, {.noise = noise::ordinary});
  add("BiasSplitGelu", bias_split_gelu, {.noise = noise::ordinary});
  add("BiasSoftmax", bias_softmax, {.noise = noise::ordinary});
  add("BiasDropout", bias_dropout, {.noise = noise::ordinary, .draws = Draws::in_training});
}

}  // namespace onnxkit::reference
