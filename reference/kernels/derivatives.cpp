#include "reference/kernels/derivatives.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/select.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

// Called for each element through a pointer: gradients are rare, and this is compiled once.
using Real2 = std::function<double(double, double)>;

Tensor combine(const KernelContext& context, const Tensor& a, const Tensor& b, const Real2& f) {
  return map<double, double, double>(context, a, b, a.type(), [&f](double l, double r) { return f(l, r); });
}

Tensor scaled(const KernelContext& context, const Tensor& x, double factor) {
  return map<double, double>(context, x, x.type(), [factor](double v) { return v * factor; });
}

/// Sums over axes, which stay with size 1.
Tensor sum_over(const KernelContext& context, const Tensor& x, std::span<const std::int64_t> axes) {
  return reduce<double, double>(context, x, axes, true, x.type(), [](ReductionSlice<double> slice) {
    ExactSum sum;
    for (const double v : slice) sum.add(v);
    return sum.value();
  });
}

/// What flows back to an operand of this shape that was broadcast: the sum over all its copies.
Tensor sum_to(const KernelContext& context, const Tensor& dy, const Dims& dims) {
  if (dy.dims() == dims) return dy;
  require(dims.size() <= dy.dims().size(), "a derivative has fewer axes than its operand");
  const std::size_t extra = dy.dims().size() - dims.size();
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < dy.dims().size(); ++i) {
    if (i < extra || (dims[i - extra] == 1 && dy.dims()[i] != 1)) axes.push_back(static_cast<std::int64_t>(i));
  }
  return sum_over(context, dy, axes).reshaped(dims);
}

void require_numpy_broadcast(const DerivativeStep& step) {
  require(step.attributes.integer("broadcast") == 0,
          "Gradient does not support the broadcasting of opset 6 and before");
}

constexpr auto multiplied = [](double a, double b) { return a * b; };

std::vector<Tensor> by_slope(const DerivativeStep& step, const Real2& derivative) {
  return {combine(step.context, step.dy, combine(step.context, step.x(), step.y(), derivative), multiplied)};
}

/// by_a and by_b are the derivatives by the operands as functions of both.
template <auto by_a, auto by_b>
std::vector<Tensor> binary(const DerivativeStep& step) {
  require_numpy_broadcast(step);
  const KernelContext& context = step.context;
  const auto part = [&](auto derivative, const Dims& dims) {
    const Tensor slope = combine(context, step.x(0), step.x(1), derivative);
    return sum_to(context, combine(context, step.dy, slope, multiplied), dims);
  };
  return {part(by_a, step.x(0).dims()), part(by_b, step.x(1).dims())};
}

constexpr auto pow_by_base = [](double a, double b) { return b == 0 ? 0 : b * std::pow(a, b - 1); };
constexpr auto pow_by_exponent = [](double a, double b) { return a == 0 && b >= 0 ? 0 : std::pow(a, b) * std::log(a); };

/// The axes that make up a row; until version 12 all from `axis` on.
std::vector<std::int64_t> row_axes(const DerivativeStep& step) {
  const std::int64_t rank = std::max<std::int64_t>(step.x().rank(), 1);
  const std::int64_t axis = normalize_axis(step.attributes.integer("axis"), rank);
  std::vector<std::int64_t> axes = {axis};
  for (std::int64_t i = axis + 1; step.node.schema->since_version < 13 && i < rank; ++i) axes.push_back(i);
  return step.x().rank() == 0 ? std::vector<std::int64_t>() : axes;
}

Tensor swap_last(const KernelContext& context, const Tensor& x) {
  std::vector<std::int64_t> order = identity_index(x.rank());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permute(context, x, order);
}

template <bool is_mean>
std::vector<Tensor> spread(const DerivativeStep& step) {
  const Tensor& x = step.x();
  const auto axes = reduced_axes(step.attributes, step.has(1) ? &step.x(1) : nullptr, x.rank());
  const Tensor dy = step.dy.reshaped(reduced_dims(x.dims(), axes, true));
  const Tensor dx = expand(step.context, dy, x.dims());
  const auto share = static_cast<double>(dy.size()) / static_cast<double>(std::max<std::int64_t>(x.size(), 1));
  return {is_mean ? scaled(step.context, dx, share) : dx};
}

constexpr auto d_exact_gelu = [](double x, double) {
  const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
};
constexpr auto d_tanh_gelu = [](double x, double) {
  constexpr double cubic = 0.044715;
  const double scale = std::sqrt(2 / std::numbers::pi), t = std::tanh(scale * (x + cubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * scale * (1 + 3 * cubic * x * x);
};

}  // namespace

namespace derivative {

// ---- one input, element by element: derivatives as functions of x and y

std::vector<Tensor> abs(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; });
}

std::vector<Tensor> clip(const DerivativeStep& step) {
  return by_slope(step, [](double x, double y) { return x == y ? 1.0 : 0.0; });
}

std::vector<Tensor> cos(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return -std::sin(x); });
}

std::vector<Tensor> cosh(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return std::sinh(x); });
}

std::vector<Tensor> erf(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x); });
}

std::vector<Tensor> exp(const DerivativeStep& step) {
  return by_slope(step, [](double, double y) { return y; });
}

std::vector<Tensor> log(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return 1 / x; });
}

std::vector<Tensor> neg(const DerivativeStep& step) {
  return by_slope(step, [](double, double) { return -1.0; });
}

std::vector<Tensor> reciprocal(const DerivativeStep& step) {
  return by_slope(step, [](double, double y) { return -y * y; });
}

std::vector<Tensor> relu(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return x > 0 ? 1.0 : 0.0; });
}

std::vector<Tensor> sigmoid(const DerivativeStep& step) {
  return by_slope(step, [](double, double y) { return y * (1 - y); });
}

std::vector<Tensor> sin(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return std::cos(x); });
}

std::vector<Tensor> sinh(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return std::cosh(x); });
}

std::vector<Tensor> softplus(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return 1 / (1 + std::exp(-x)); });
}

std::vector<Tensor> softsign(const DerivativeStep& step) {
  return by_slope(step, [](double x, double) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); });
}

std::vector<Tensor> sqrt(const DerivativeStep& step) {
  return by_slope(step, [](double, double y) { return 0.5 / y; });
}

std::vector<Tensor> tan(const DerivativeStep& step) {
  return by_slope(step, [](double, double y) { return 1 + y * y; });
}

std::vector<Tensor> tanh(const DerivativeStep& step) {
  return by_slope(step, [](double, double y) { return 1 - y * y; });
}

std::vector<Tensor> elu(const DerivativeStep& step) {
  const double alpha = step.attributes.real("alpha", 1);
  return by_slope(step, [alpha](double x, double y) { return x < 0 ? y + alpha : 1; });
}

std::vector<Tensor> leaky_relu(const DerivativeStep& step) {
  const double alpha = step.attributes.real("alpha", 0.01F);
  return by_slope(step, [alpha](double x, double) { return x < 0 ? alpha : 1; });
}

std::vector<Tensor> gelu(const DerivativeStep& step) {
  return step.attributes.string("approximate") == "tanh" ? by_slope(step, d_tanh_gelu) : by_slope(step, d_exact_gelu);
}

// ---- rows that are normalised

std::vector<Tensor> softmax(const DerivativeStep& step) {
  const KernelContext& context = step.context;
  const Tensor sum = sum_over(context, combine(context, step.dy, step.y(), multiplied), row_axes(step));
  const Tensor rest = combine(context, step.dy, sum, [](double d, double s) { return d - s; });
  return {combine(context, rest, step.y(), multiplied)};
}

std::vector<Tensor> log_softmax(const DerivativeStep& step) {
  const KernelContext& context = step.context;
  const Tensor sum = sum_over(context, step.dy, row_axes(step));
  const Tensor part = combine(context, step.y(), sum, [](double y, double s) { return std::exp(y) * s; });
  return {combine(context, step.dy, part, [](double d, double p) { return d - p; })};
}

// ---- several inputs, element by element

std::vector<Tensor> add(const DerivativeStep& step) {
  require_numpy_broadcast(step);
  return {sum_to(step.context, step.dy, step.x(0).dims()), sum_to(step.context, step.dy, step.x(1).dims())};
}

std::vector<Tensor> sub(const DerivativeStep& step) {
  std::vector<Tensor> both = add(step);
  both[1] = scaled(step.context, both[1], -1);
  return both;
}

std::vector<Tensor> pow(const DerivativeStep& step) {
  if (step.x(1).domain() == Domain::real) return binary<pow_by_base, pow_by_exponent>(step);
  const std::vector<double> exponents = step.x(1).reals();
  Tensor exponent = step.context.make(ElementType::float64, step.x(1).dims());
  std::copy(exponents.begin(), exponents.end(), exponent.write<double>().begin());
  TracedNode node = step.node;
  node.inputs[1] = exponent;
  return {binary<pow_by_base, pow_by_exponent>({step.context, node, step.attributes, step.dy})[0], Tensor()};
}

std::vector<Tensor> sum(const DerivativeStep& step) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < step.node.inputs.size(); ++i)
    all.push_back(sum_to(step.context, step.dy, step.x(i).dims()));
  return all;
}

std::vector<Tensor> mean(const DerivativeStep& step) {
  std::vector<Tensor> all = sum(step);
  for (Tensor& dx : all) dx = scaled(step.context, dx, 1 / static_cast<double>(all.size()));
  return all;
}

std::vector<Tensor> extreme(const DerivativeStep& step) {
  const KernelContext& context = step.context;
  constexpr auto equal = [](double y, double x) { return x == y ? 1.0 : 0.0; };
  std::vector<Tensor> all;
  Tensor count = context.make(step.y().type(), step.y().dims());
  for (std::size_t i = 0; i < step.node.inputs.size(); ++i) {
    all.push_back(combine(context, step.y(), step.x(i), equal));
    count = combine(context, count, all.back(), [](double c, double e) { return c + e; });
  }
  const Tensor share = combine(context, step.dy, count, [](double d, double c) { return c == 0 ? 0 : d / c; });
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = sum_to(context, combine(context, share, all[i], multiplied), step.x(i).dims());
  return all;
}

std::vector<Tensor> where(const DerivativeStep& step) {
  const auto part = [&](bool chosen, const Dims& dims) {
    const Tensor dx = map<double, bool, double>(step.context, step.dy, step.x(0), step.dy.type(),
                                                [chosen](double d, bool c) { return c == chosen ? d : 0; });
    return sum_to(step.context, dx, dims);
  };
  return {Tensor(), part(true, step.x(1).dims()), part(false, step.x(2).dims())};
}

std::vector<Tensor> mul(const DerivativeStep& step) {
  constexpr auto first = [](double a, double) { return a; };
  constexpr auto second = [](double, double b) { return b; };
  return binary<second, first>(step);
}

std::vector<Tensor> div(const DerivativeStep& step) {
  constexpr auto by_a = [](double, double b) { return 1 / b; };
  constexpr auto by_b = [](double a, double b) { return -a / (b * b); };
  return binary<by_a, by_b>(step);
}

// ---- products of matrices

std::vector<Tensor> matmul(const DerivativeStep& step) {
  const KernelContext& context = step.context;
  const Tensor& given_a = step.x(0);
  const Tensor& given_b = step.x(1);
  const Tensor a = given_a.rank() == 1 ? given_a.reshaped({1, given_a.size()}) : given_a;
  const Tensor b = given_b.rank() == 1 ? given_b.reshaped({given_b.size(), 1}) : given_b;
  Dims dims = broadcast_dims(Dims(a.dims().begin(), a.dims().end() - 2), Dims(b.dims().begin(), b.dims().end() - 2));
  dims.push_back(a.dim(a.rank() - 2));
  dims.push_back(b.dim(b.rank() - 1));
  const Tensor dy = step.dy.reshaped(dims);
  const Tensor da = matrix_product(context, dy, swap_last(context, b));
  const Tensor db = matrix_product(context, swap_last(context, a), dy);
  return {sum_to(context, da, a.dims()).reshaped(given_a.dims()),
          sum_to(context, db, b.dims()).reshaped(given_b.dims())};
}

std::vector<Tensor> gemm(const DerivativeStep& step) {
  require_numpy_broadcast(step);
  const KernelContext& context = step.context;
  const double alpha = step.attributes.real("alpha", 1), beta = step.attributes.real("beta", 1);
  const bool turn_a = step.attributes.integer("transA") != 0, turn_b = step.attributes.integer("transB") != 0;
  const auto turned = [&](const Tensor& x, bool turn) { return turn ? swap_last(context, x) : x; };
  const Tensor a = turned(step.x(0), turn_a), b = turned(step.x(1), turn_b);
  const Tensor dy = scaled(context, step.dy, alpha);
  std::vector<Tensor> all = {turned(matrix_product(context, dy, swap_last(context, b)), turn_a),
                             turned(matrix_product(context, swap_last(context, a), dy), turn_b)};
  if (step.has(2)) all.push_back(sum_to(context, scaled(context, step.dy, beta), step.x(2).dims()));
  return all;
}

// ---- reductions and movement

std::vector<Tensor> reduce_mean(const DerivativeStep& step) { return spread<true>(step); }

std::vector<Tensor> reduce_sum(const DerivativeStep& step) { return spread<false>(step); }

/// The elements in the same order.
std::vector<Tensor> same_elements(const DerivativeStep& step) { return {step.dy.reshaped(step.x().dims())}; }

std::vector<Tensor> expand(const DerivativeStep& step) { return {sum_to(step.context, step.dy, step.x().dims())}; }

std::vector<Tensor> transpose(const DerivativeStep& step) {
  std::vector<std::int64_t> order = identity_index(step.x().rank());
  std::reverse(order.begin(), order.end());
  order = step.attributes.integers("perm").value_or(order);
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(normalize_axis(order[i], step.x().rank()))] = static_cast<std::int64_t>(i);
  return {permute(step.context, step.dy, back)};
}

std::vector<Tensor> concat(const DerivativeStep& step) {
  const std::int64_t axis = normalize_axis(step.attributes.integer("axis", 1), step.y().rank());
  std::vector<Tensor> all;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < step.node.inputs.size(); ++i) {
    all.push_back(slice_axis(step.context, step.dy, axis, at, at + step.x(i).dim(axis)));
    at += step.x(i).dim(axis);
  }
  return all;
}

}  // namespace derivative
}  // namespace onnxkit::reference
