#include "reference/kernels/gradient.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/select.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

/// A node to be differentiated, and the derivative by its output.
struct Step {
  const KernelContext& context;
  const TracedNode& node;
  spec::NodeAttributes attributes;
  Tensor dy;

  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i].is_tensor(); }
  const Tensor& x(std::size_t i = 0) const {
    require(has(i), "an input on the way is no tensor");
    return node.inputs[i].tensor;
  }
  const Tensor& y() const { return node.outputs[0].tensor; }
};

/// One derivative for each input; a tensor without type where there is none.
using Rule = std::vector<Tensor> (*)(const Step& step);

template <class F>
Tensor combine(const KernelContext& context, const Tensor& a, const Tensor& b, F f) {
  return map<double, double, double>(context, a, b, a.type(), f);
}

Tensor scaled(const KernelContext& context, const Tensor& x, double factor) {
  return map<double, double>(context, x, x.type(), [factor](double v) { return v * factor; });
}

/// Sums over axes, which stay with size 1.
Tensor sum_over(const KernelContext& context, const Tensor& x, std::span<const std::int64_t> axes) {
  return reduce<double, double>(context, x, axes, true, x.type(), [](Fiber<double> fiber) {
    ExactSum sum;
    for (const double v : fiber) sum.add(v);
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

void require_numpy_broadcast(const Step& step) {
  require(step.attributes.integer("broadcast") == 0,
          "Gradient does not support the broadcasting of opset 6 and before");
}

// ---- one input, element by element: derivatives as functions of x and y

constexpr auto product = [](double a, double b) { return a * b; };

template <class F>
std::vector<Tensor> by_slope(const Step& step, F derivative) {
  return {combine(step.context, step.dy, combine(step.context, step.x(), step.y(), derivative), product)};
}

template <auto derivative>
std::vector<Tensor> unary(const Step& step) {
  return by_slope(step, derivative);
}

constexpr auto d_abs = [](double x, double) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; };
constexpr auto d_clip = [](double x, double y) { return x == y ? 1.0 : 0.0; };
constexpr auto d_cos = [](double x, double) { return -std::sin(x); };
constexpr auto d_cosh = [](double x, double) { return std::sinh(x); };
constexpr auto d_erf = [](double x, double) { return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x); };
constexpr auto d_exp = [](double, double y) { return y; };
constexpr auto d_log = [](double x, double) { return 1 / x; };
constexpr auto d_neg = [](double, double) { return -1.0; };
constexpr auto d_reciprocal = [](double, double y) { return -y * y; };
constexpr auto d_relu = [](double x, double) { return x > 0 ? 1.0 : 0.0; };
constexpr auto d_sigmoid = [](double, double y) { return y * (1 - y); };
constexpr auto d_sin = [](double x, double) { return std::cos(x); };
constexpr auto d_sinh = [](double x, double) { return std::cosh(x); };
constexpr auto d_softplus = [](double x, double) { return 1 / (1 + std::exp(-x)); };
constexpr auto d_softsign = [](double x, double) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); };
constexpr auto d_sqrt = [](double, double y) { return 0.5 / y; };
constexpr auto d_tan = [](double, double y) { return 1 + y * y; };
constexpr auto d_tanh = [](double, double y) { return 1 - y * y; };

std::vector<Tensor> elu(const Step& step) {
  const double alpha = step.attributes.real("alpha", 1);
  return by_slope(step, [alpha](double x, double y) { return x < 0 ? y + alpha : 1; });
}

std::vector<Tensor> leaky_relu(const Step& step) {
  const double alpha = step.attributes.real("alpha", 0.01F);
  return by_slope(step, [alpha](double x, double) { return x < 0 ? alpha : 1; });
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

std::vector<Tensor> gelu(const Step& step) {
  return step.attributes.string("approximate") == "tanh" ? by_slope(step, d_tanh_gelu) : by_slope(step, d_exact_gelu);
}

// ---- rows that are normalised

/// The axes that make up a row; until version 12 all from `axis` on.
std::vector<std::int64_t> row_axes(const Step& step) {
  const std::int64_t rank = std::max<std::int64_t>(step.x().rank(), 1);
  const std::int64_t axis = normalize_axis(step.attributes.integer("axis"), rank);
  std::vector<std::int64_t> axes = {axis};
  for (std::int64_t i = axis + 1; step.node.schema->since_version < 13 && i < rank; ++i) axes.push_back(i);
  return step.x().rank() == 0 ? std::vector<std::int64_t>() : axes;
}

std::vector<Tensor> softmax(const Step& step) {
  const KernelContext& context = step.context;
  const Tensor sum = sum_over(context, combine(context, step.dy, step.y(), product), row_axes(step));
  const Tensor rest = combine(context, step.dy, sum, [](double d, double s) { return d - s; });
  return {combine(context, rest, step.y(), product)};
}

std::vector<Tensor> log_softmax(const Step& step) {
  const KernelContext& context = step.context;
  const Tensor sum = sum_over(context, step.dy, row_axes(step));
  const Tensor part = combine(context, step.y(), sum, [](double y, double s) { return std::exp(y) * s; });
  return {combine(context, step.dy, part, [](double d, double p) { return d - p; })};
}

// ---- several inputs, element by element

std::vector<Tensor> add(const Step& step) {
  require_numpy_broadcast(step);
  return {sum_to(step.context, step.dy, step.x(0).dims()), sum_to(step.context, step.dy, step.x(1).dims())};
}

std::vector<Tensor> subtract(const Step& step) {
  std::vector<Tensor> both = add(step);
  both[1] = scaled(step.context, both[1], -1);
  return both;
}

/// by_a and by_b are the derivatives by the operands as functions of both.
template <auto by_a, auto by_b>
std::vector<Tensor> binary(const Step& step) {
  require_numpy_broadcast(step);
  const KernelContext& context = step.context;
  const auto part = [&](auto derivative, const Dims& dims) {
    const Tensor slope = combine(context, step.x(0), step.x(1), derivative);
    return sum_to(context, combine(context, step.dy, slope, product), dims);
  };
  return {part(by_a, step.x(0).dims()), part(by_b, step.x(1).dims())};
}

constexpr auto first = [](double a, double) { return a; };
constexpr auto second = [](double, double b) { return b; };
constexpr auto div_by_a = [](double, double b) { return 1 / b; };
constexpr auto div_by_b = [](double a, double b) { return -a / (b * b); };
constexpr auto pow_by_base = [](double a, double b) { return b == 0 ? 0 : b * std::pow(a, b - 1); };
constexpr auto pow_by_exponent = [](double a, double b) { return a == 0 && b >= 0 ? 0 : std::pow(a, b) * std::log(a); };

std::vector<Tensor> pow(const Step& step) {
  if (step.x(1).domain() == Domain::real) return binary<pow_by_base, pow_by_exponent>(step);
  Step real = step;
  const std::vector<double> exponents = step.x(1).reals();
  Tensor exponent = step.context.make(ElementType::float64, step.x(1).dims());
  std::copy(exponents.begin(), exponents.end(), exponent.write<double>().begin());
  TracedNode node = step.node;
  node.inputs[1] = exponent;
  return {binary<pow_by_base, pow_by_exponent>({step.context, node, step.attributes, step.dy})[0], Tensor()};
}

std::vector<Tensor> sum(const Step& step) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < step.node.inputs.size(); ++i)
    all.push_back(sum_to(step.context, step.dy, step.x(i).dims()));
  return all;
}

std::vector<Tensor> mean(const Step& step) {
  std::vector<Tensor> all = sum(step);
  for (Tensor& dx : all) dx = scaled(step.context, dx, 1 / static_cast<double>(all.size()));
  return all;
}

/// To the inputs that are the extreme, in equal shares.
std::vector<Tensor> extreme(const Step& step) {
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
    all[i] = sum_to(context, combine(context, share, all[i], product), step.x(i).dims());
  return all;
}

std::vector<Tensor> where(const Step& step) {
  const auto part = [&](bool chosen, const Dims& dims) {
    const Tensor dx = map<double, bool, double>(step.context, step.dy, step.x(0), step.dy.type(),
                                                [chosen](double d, bool c) { return c == chosen ? d : 0; });
    return sum_to(step.context, dx, dims);
  };
  return {Tensor(), part(true, step.x(1).dims()), part(false, step.x(2).dims())};
}

// ---- products of matrices

Tensor swap_last(const KernelContext& context, const Tensor& x) {
  std::vector<std::int64_t> order = identity_index(x.rank());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permute(context, x, order);
}

std::vector<Tensor> matmul(const Step& step) {
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

std::vector<Tensor> gemm(const Step& step) {
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

template <bool is_mean>
std::vector<Tensor> reduce_sum(const Step& step) {
  const Tensor& x = step.x();
  const auto axes = reduced_axes(step.attributes, step.has(1) ? &step.x(1) : nullptr, x.rank());
  const Tensor dy = step.dy.reshaped(reduced_dims(x.dims(), axes, true));
  const Tensor dx = expand(step.context, dy, x.dims());
  const auto share = static_cast<double>(dy.size()) / static_cast<double>(std::max<std::int64_t>(x.size(), 1));
  return {is_mean ? scaled(step.context, dx, share) : dx};
}

/// The elements in the same order.
std::vector<Tensor> same_elements(const Step& step) { return {step.dy.reshaped(step.x().dims())}; }

std::vector<Tensor> expand_back(const Step& step) { return {sum_to(step.context, step.dy, step.x().dims())}; }

std::vector<Tensor> transpose(const Step& step) {
  std::vector<std::int64_t> order = identity_index(step.x().rank());
  std::reverse(order.begin(), order.end());
  order = step.attributes.integers("perm").value_or(order);
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(normalize_axis(order[i], step.x().rank()))] = static_cast<std::int64_t>(i);
  return {permute(step.context, step.dy, back)};
}

std::vector<Tensor> concat(const Step& step) {
  const std::int64_t axis = normalize_axis(step.attributes.integer("axis", 1), step.y().rank());
  std::vector<Tensor> all;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < step.node.inputs.size(); ++i) {
    all.push_back(slice_axis(step.context, step.dy, axis, at, at + step.x(i).dim(axis)));
    at += step.x(i).dim(axis);
  }
  return all;
}

struct Row {
  std::string_view op;
  Rule rule;
};

constexpr Row rules[] = {
    {"Abs", unary<d_abs>},
    {"Add", add},
    {"Cast", same_elements},
    {"Clip", unary<d_clip>},
    {"Concat", concat},
    {"Cos", unary<d_cos>},
    {"Cosh", unary<d_cosh>},
    {"Div", binary<div_by_a, div_by_b>},
    {"Elu", elu},
    {"Erf", unary<d_erf>},
    {"Exp", unary<d_exp>},
    {"Expand", expand_back},
    {"Flatten", same_elements},
    {"Gelu", gelu},
    {"Gemm", gemm},
    {"Identity", same_elements},
    {"LeakyRelu", leaky_relu},
    {"Log", unary<d_log>},
    {"LogSoftmax", log_softmax},
    {"MatMul", matmul},
    {"Max", extreme},
    {"Mean", mean},
    {"Min", extreme},
    {"Mul", binary<second, first>},
    {"Neg", unary<d_neg>},
    {"Pow", pow},
    {"Reciprocal", unary<d_reciprocal>},
    {"ReduceMean", reduce_sum<true>},
    {"ReduceSum", reduce_sum<false>},
    {"Relu", unary<d_relu>},
    {"Reshape", same_elements},
    {"Sigmoid", unary<d_sigmoid>},
    {"Sin", unary<d_sin>},
    {"Sinh", unary<d_sinh>},
    {"Softmax", softmax},
    {"Softplus", unary<d_softplus>},
    {"Softsign", unary<d_softsign>},
    {"Sqrt", unary<d_sqrt>},
    {"Squeeze", same_elements},
    {"Sub", subtract},
    {"Sum", sum},
    {"Tan", unary<d_tan>},
    {"Tanh", unary<d_tanh>},
    {"Transpose", transpose},
    {"Unsqueeze", same_elements},
    {"Where", where},
};

Rule rule_for(const TracedNode& traced) {
  const bool is_standard = traced.schema && traced.schema->domain.empty();
  const auto* row = std::find_if(std::begin(rules), std::end(rules),
                                 [&](const Row& r) { return is_standard && r.op == traced.schema->name; });
  if (row == std::end(rules))
    throw Fault("not-supported", fmt::format("Gradient cannot differentiate {}", traced.node->op_type.view()));
  return row->rule;
}

using Derivatives = std::unordered_map<ir::ValueId, Tensor>;
using ValueSet = std::unordered_set<ir::ValueId>;

bool any_of(const std::vector<ir::ValueId>& ids, const ValueSet& set) {
  return std::any_of(ids.begin(), ids.end(), [&](ir::ValueId id) { return set.contains(id); });
}

/// xs and what depends on them.
ValueSet dependent_values(const std::vector<TracedNode>& traced, std::span<const ir::ValueId> xs) {
  ValueSet dependent(xs.begin(), xs.end());
  for (const TracedNode& row : traced) {
    if (any_of(row.node->inputs, dependent)) dependent.insert(row.node->outputs.begin(), row.node->outputs.end());
  }
  dependent.erase(ir::ValueId::none);
  return dependent;
}

/// Hands the derivatives by a node's output on to its inputs.
void step_back(const KernelContext& context, const TracedNode& traced, const ValueSet& dependent,
               Derivatives& derivatives) {
  const auto dy = std::find_if(traced.node->outputs.begin(), traced.node->outputs.end(),
                               [&](ir::ValueId id) { return derivatives.contains(id); });
  if (dy == traced.node->outputs.end() || !any_of(traced.node->inputs, dependent)) return;
  const Rule rule = rule_for(traced);
  const Step step{context, traced, spec::NodeAttributes(*traced.node, *traced.schema, traced.bindings),
                  derivatives.at(*dy)};
  const std::vector<Tensor> by_input = rule(step);
  for (std::size_t i = 0; i < by_input.size(); ++i) {
    const ir::ValueId id = traced.node->inputs[i];
    const bool wanted = dependent.contains(id) && by_input[i].type() != ElementType::undefined;
    if (!wanted || step.x(i).domain() != Domain::real) continue;
    const Tensor dx = by_input[i].retyped(step.x(i).type());
    const auto [sum, is_new] = derivatives.try_emplace(id, dx);
    if (!is_new) sum->second = combine(context, sum->second, dx, [](double p, double q) { return p + q; });
  }
}

/// A tensor of this type and shape.
Tensor filled(const KernelContext& context, const Tensor& like, double number) {
  require(like.domain() == Domain::real, "only tensors of reals have derivatives");
  Tensor tensor = context.make(like.type(), like.dims());
  std::ranges::fill(tensor.write<double>(), number);
  return tensor;
}

const Tensor& result_of(const std::vector<TracedNode>& traced, ir::ValueId id) {
  for (const TracedNode& row : traced) {
    for (std::size_t i = 0; i < row.node->outputs.size(); ++i) {
      if (row.node->outputs[i] != id) continue;
      require(row.outputs[i].is_tensor(), "y is no tensor");
      return row.outputs[i].tensor;
    }
  }
  throw Fault("y is not computed from xs and zs");
}

}  // namespace

void gradient(KernelContext& context) {
  std::vector<ir::ValueId> given;
  for (const std::string_view name : context.strings("xs").value_or(std::vector<std::string_view>()))
    given.push_back(context.value_named(name));
  const std::size_t count = given.size();
  for (const std::string_view name : context.strings("zs").value_or(std::vector<std::string_view>()))
    given.push_back(context.value_named(name));
  require(given.size() == context.input_count(), "xs and zs name another number of tensors than there are inputs");
  std::vector<Value> values;
  for (std::size_t i = 0; i < given.size(); ++i) values.push_back(context.value(i));
  const std::span<const ir::ValueId> xs = std::span(given).first(count);

  const ir::ValueId y = context.value_named(context.string("y"));
  const std::vector<TracedNode> traced = context.trace(y, given, values);
  const auto itself = std::find(given.begin(), given.end(), y);
  const Tensor& result =
      itself == given.end() ? result_of(traced, y) : context.input(static_cast<std::size_t>(itself - given.begin()));
  const ValueSet dependent = dependent_values(traced, xs);
  Derivatives derivatives;
  derivatives.emplace(y, filled(context, result, 1));
  for (auto row = traced.rbegin(); row != traced.rend(); ++row) step_back(context, *row, dependent, derivatives);
  for (std::size_t i = 0; i < count; ++i) {
    if (!context.has_output(i)) continue;
    const auto found = derivatives.find(xs[i]);
    context.set_output(i, found == derivatives.end() ? filled(context, context.input(i), 0) : found->second);
  }
}

}  // namespace onnxkit::reference
