// Operators that work element by element on one input. What later versions change is the element types that they allow: integers for Abs
// and Neg from 6, for Relu from 14; Erf took integers until 12. Until version 5 a node may carry `consumed_inputs`, which means nothing.
#include <cmath>
#include <numbers>

#include "reference/kernels/broadcast.h"
#include "reference/kernels/derivatives.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

/// f takes and gives double.
template <auto f>
void reals(KernelContext& context) {
  const Tensor& x = context.input(0);
  context.set_output(0, map<double, double>(context, x, x.type(), f));
}

/// f is a generic callable on numbers.
template <auto f>
void numbers(KernelContext& context) {
  const Tensor& x = context.input(0);
  context.set_output(0, dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
                       return map<T, T>(context, x, x.type(), [](T v) -> T { return f(v); });
                     }));
}

/// Leaves nothing to round, as the result is x or 0.
void relu(KernelContext& context) {
  const Tensor& x = context.input(0);
  Tensor y = dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
    return map<T, T>(context, x, x.type(), [](T v) { return v < 0 ? T() : v; });
  });
  y.mark_rounded(x.is_rounded());
  context.set_output(0, y);
}

/// f gives a real for a number of any domain; integer types keep its whole part.
template <class F>
void truncated(KernelContext& context, F f) {
  const Tensor& x = context.input(0);
  context.set_output(0, dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
                       return map<T, T>(context, x, x.type(), [f](T v) -> T { return truncate_to<T>(f(v)); });
                     }));
}

/// make(context) reads the attributes and gives the function.
template <auto make>
void with_attributes(KernelContext& context) {
  const Tensor& x = context.input(0);
  context.set_output(0, map<double, double>(context, x, x.type(), make(context)));
}

constexpr auto acos = [](double x) { return std::acos(x); };
constexpr auto acosh = [](double x) { return std::acosh(x); };
constexpr auto asin = [](double x) { return std::asin(x); };
constexpr auto asinh = [](double x) { return std::asinh(x); };
constexpr auto atan = [](double x) { return std::atan(x); };
constexpr auto atanh = [](double x) { return std::atanh(x); };
constexpr auto ceil_elementwise = [](double x) { return std::ceil(x); };
constexpr auto cos = [](double x) { return std::cos(x); };
constexpr auto cosh = [](double x) { return std::cosh(x); };
constexpr auto exp = [](double x) { return std::exp(x); };
constexpr auto floor_elementwise = [](double x) { return std::floor(x); };
constexpr auto log = [](double x) { return std::log(x); };
constexpr auto reciprocal = [](double x) { return 1 / x; };
constexpr auto sigmoid_elementwise = [](double x) { return 1 / (1 + std::exp(-x)); };
constexpr auto sin = [](double x) { return std::sin(x); };
constexpr auto sinh = [](double x) { return std::sinh(x); };
constexpr auto softsign = [](double x) { return x / (1 + std::abs(x)); };
constexpr auto sqrt = [](double x) { return std::sqrt(x); };
constexpr auto tan = [](double x) { return std::tan(x); };
constexpr auto tanh = [](double x) { return std::tanh(x); };
/// Halves to the even neighbour, which is how the machine rounds unless told otherwise.
constexpr auto round_elementwise = [](double x) { return std::nearbyint(x); };
/// log(1 + e^x) without overflow.
constexpr auto softplus = [](double x) { return greater_of(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
constexpr auto mish = [](double x) { return x * std::tanh(softplus(x)); };
constexpr auto hard_swish = [](double x) { return x * greater_of(0.0, lesser_of(1.0, x / 6 + 0.5)); };

constexpr auto absolute = [](auto x) { return x < 0 ? negate(x) : x; };
constexpr auto real_absolute = [](double x) { return std::abs(x); };
constexpr auto negative = [](auto x) {
  if constexpr (std::is_same_v<decltype(x), double>)
    return -x;
  else
    return negate(x);
};
/// NaN stays NaN.
constexpr auto sign = []<class T>(T x) -> T {
  if (x > 0) return 1;
  if constexpr (std::is_unsigned_v<T>)
    return 0;
  else
    return x < 0 ? -1 : x == 0 ? 0 : x;
};

constexpr auto celu = [](const KernelContext& context) {
  return [alpha = double{context.real("alpha")}](double x) {
    return greater_of(0.0, x) + lesser_of(0.0, alpha * std::expm1(x / alpha));
  };
};
constexpr auto elu = [](const KernelContext& context) {
  return [alpha = double{context.real("alpha")}](double x) { return x < 0 ? alpha * std::expm1(x) : x; };
};
constexpr auto hard_sigmoid = [](const KernelContext& context) {
  return [alpha = double{context.real("alpha")}, beta = double{context.real("beta")}](double x) {
    return greater_of(0.0, lesser_of(1.0, alpha * x + beta));
  };
};
constexpr auto leaky_relu = [](const KernelContext& context) {
  return [alpha = double{context.real("alpha")}](double x) { return x < 0 ? alpha * x : x; };
};
constexpr auto selu = [](const KernelContext& context) {
  return [alpha = double{context.real("alpha")}, gamma = double{context.real("gamma")}](double x) {
    return gamma * (x > 0 ? x : alpha * std::expm1(x));
  };
};
constexpr auto swish = [](const KernelContext& context) {
  return [alpha = double{context.real("alpha")}](double x) { return x * sigmoid_elementwise(alpha * x); };
};
constexpr auto thresholded_relu = [](const KernelContext& context) {
  return [alpha = double{context.real("alpha")}](double x) { return x > alpha ? x : 0; };
};

/// erfc keeps the digits that 1 + erf loses for negative x.
constexpr auto exact_gelu = [](double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); };
/// x / (1 + e^-2t) is 0.5 x (1 + tanh t).
constexpr auto tanh_gelu = [](double x) {
  const double t = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x * sigmoid_elementwise(2 * t);
};

void gelu(KernelContext& context) {
  const std::string_view approximate = context.string("approximate");
  if (approximate == "tanh") return reals<tanh_gelu>(context);
  require(approximate == "none", "`approximate` must be none or tanh");
  reals<exact_gelu>(context);
}

void erf(KernelContext& context) {
  truncated(context, [](auto x) { return std::erf(static_cast<double>(x)); });
}

void shrink(KernelContext& context) {
  const long double lambd = context.real("lambd"), bias = context.real("bias");
  // Integers of 64 bits are exact in long double only.
  truncated(context, [lambd, bias](auto x) -> long double {
    if (x < -lambd) return x + bias;
    return x > lambd ? x - bias : 0;
  });
}

void is_inf(KernelContext& context) {
  const bool negative_too = context.integer("detect_negative") != 0;
  const bool positive_too = context.integer("detect_positive") != 0;
  context.set_output(0, map<double, bool>(context, context.input(0), ElementType::boolean, [=](double x) {
                       return std::isinf(x) && (x < 0 ? negative_too : positive_too);
                     }));
}

void is_nan(KernelContext& context) {
  context.set_output(
      0, map<double, bool>(context, context.input(0), ElementType::boolean, [](double x) { return std::isnan(x); }));
}

void logical_not(KernelContext& context) {
  context.set_output(0, map<bool, bool>(context, context.input(0), ElementType::boolean, [](bool x) { return !x; }));
}

void bitwise_not(KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.domain() == Domain::integer) {
    using T = std::int64_t;
    context.set_output(0, map<T, T>(context, x, x.type(), [](T v) { return ~v; }));
  } else {
    using T = std::uint64_t;
    context.set_output(0, map<T, T>(context, x, x.type(), [](T v) { return ~v; }));
  }
}

void abs(KernelContext& context) {
  if (context.input(0).domain() == Domain::real) return reals<real_absolute>(context);
  numbers<absolute>(context);
}

}  // namespace

void register_elementwise(KernelRegistry& registry) {
  registry.add("Abs", all_versions(), abs,
               {.noise = noise::exact, .derivative = derivative::abs, .sizes = SizeRole::step});
  registry.add("Acos", all_versions(), reals<acos>, {.noise = noise::transcendental});
  registry.add("Acosh", all_versions(), reals<acosh>, {.noise = noise::transcendental});
  registry.add("Asin", all_versions(), reals<asin>, {.noise = noise::transcendental});
  registry.add("Asinh", all_versions(), reals<asinh>, {.noise = noise::transcendental});
  registry.add("Atan", all_versions(), reals<atan>, {.noise = noise::transcendental});
  registry.add("Atanh", all_versions(), reals<atanh>, {.noise = noise::transcendental});
  registry.add("BitwiseNot", all_versions(), bitwise_not);
  registry.add("Ceil", all_versions(), reals<ceil_elementwise>, {.noise = noise::exact, .sizes = SizeRole::step});
  registry.add("Celu", all_versions(), with_attributes<celu>,
               {.noise = NoiseRule{.results = 3, .input = 1, .absolute = 2}});
  registry.add("Cos", all_versions(), reals<cos>, {.noise = noise::transcendental, .derivative = derivative::cos});
  registry.add("Cosh", all_versions(), reals<cosh>, {.noise = noise::transcendental, .derivative = derivative::cosh});
  registry.add("Elu", all_versions(), with_attributes<elu>,
               {.noise = NoiseRule{.results = 3, .input = 1, .absolute = 2}, .derivative = derivative::elu});
  registry.add("Erf", all_versions(), erf,
               {.noise = NoiseRule{.results = 3, .absolute = 3}, .derivative = derivative::erf});
  registry.add("Exp", all_versions(), reals<exp>, {.noise = noise::transcendental, .derivative = derivative::exp});
  registry.add("Floor", all_versions(), reals<floor_elementwise>, {.noise = noise::exact, .sizes = SizeRole::step});
  registry.add("Gelu", all_versions(), gelu, {.noise = noise::gelu, .derivative = derivative::gelu});
  registry.add("HardSigmoid", all_versions(), with_attributes<hard_sigmoid>,
               {.noise = NoiseRule{.results = 2, .absolute = 1}});
  registry.add("HardSwish", all_versions(), reals<hard_swish>, {.noise = NoiseRule{.results = 2, .absolute = 1}});
  registry.add("IsInf", all_versions(), is_inf);
  registry.add("IsNaN", all_versions(), is_nan);
  registry.add("LeakyRelu", all_versions(), with_attributes<leaky_relu>,
               {.noise = noise::arithmetic, .derivative = derivative::leaky_relu});
  registry.add("Log", all_versions(), reals<log>, {.noise = noise::transcendental, .derivative = derivative::log});
  registry.add("Mish", all_versions(), reals<mish>, {.noise = NoiseRule{.results = 3, .input = 1, .absolute = 8}});
  registry.add("Neg", all_versions(), numbers<negative>,
               {.noise = noise::exact, .derivative = derivative::neg, .sizes = SizeRole::step});
  registry.add("Not", all_versions(), logical_not);
  registry.add("Reciprocal", all_versions(), reals<reciprocal>,
               {.noise = noise::arithmetic, .derivative = derivative::reciprocal, .sizes = SizeRole::step});
  registry.add("Relu", all_versions(), relu, {.noise = noise::exact, .derivative = derivative::relu});
  registry.add("Round", all_versions(), reals<round_elementwise>, {.noise = noise::exact, .sizes = SizeRole::step});
  registry.add("Selu", all_versions(), with_attributes<selu>, {.noise = NoiseRule{.results = 3, .absolute = 2}});
  registry.add("Shrink", all_versions(), shrink, {.noise = noise::ordinary});
  registry.add("Sigmoid", all_versions(), reals<sigmoid_elementwise>,
               {.noise = NoiseRule{.results = 3, .absolute = 1}, .derivative = derivative::sigmoid});
  registry.add("Sign", all_versions(), numbers<sign>, {.noise = noise::exact});
  registry.add("Sin", all_versions(), reals<sin>, {.noise = noise::transcendental, .derivative = derivative::sin});
  registry.add("Sinh", all_versions(), reals<sinh>, {.noise = noise::transcendental, .derivative = derivative::sinh});
  registry.add("Softplus", all_versions(), reals<softplus>,
               {.noise = NoiseRule{.results = 3, .absolute = 32}, .derivative = derivative::softplus});
  registry.add("Softsign", all_versions(), reals<softsign>,
               {.noise = noise::ordinary, .derivative = derivative::softsign});
  registry.add("Sqrt", all_versions(), reals<sqrt>,
               {.noise = noise::arithmetic, .derivative = derivative::sqrt, .sizes = SizeRole::step});
  registry.add("Swish", all_versions(), with_attributes<swish>,
               {.noise = NoiseRule{.results = 4, .input = 1, .absolute = 1}});
  registry.add("Tan", all_versions(), reals<tan>, {.noise = noise::transcendental, .derivative = derivative::tan});
  registry.add("Tanh", all_versions(), reals<tanh>, {.noise = noise::transcendental, .derivative = derivative::tanh});
  registry.add("ThresholdedRelu", all_versions(), with_attributes<thresholded_relu>, {.noise = noise::exact});
}

}  // namespace onnxkit::reference
