#include <cmath>

#include "libonnxkit/plan/elementwise.h"

// Further elementwise operators: functions of one number, operators on bits, remainders.
namespace onnxkit::plan {
namespace {

using Number = Expression::Number;
using Numbers = std::vector<Number>;

/// f writes the function of a real number.
template <class F>
Unlowered real_function(LowerCall& call, F f) {
  return lower_elementwise(call, [&](Expression& e, const Numbers& x) -> Unlowered {
    if (!is_real_lane(e, x[0])) return "only for real numbers";
    f(e, x[0]);
    return std::nullopt;
  });
}

template <Operation operation>
Unlowered lower_function(LowerCall& call) {
  return real_function(call, [](Expression& e, Number x) { e.apply(operation, x); });
}

Number real(Expression& e, Number like, double value) { return e.constant(e.lane(like), value); }

/// e^x - 1 as 2 tanh(x/2) / (1 - tanh(x/2)), which keeps the digits near 0; below -1 as it stands.
Number exponential_minus_one(Expression& e, Number x) {
  const Number t = e.apply(Operation::tanh, e.apply(Operation::multiply, x, real(e, x, 0.5)));
  const Number near =
      e.apply(Operation::divide, e.apply(Operation::add, t, t), e.apply(Operation::subtract, real(e, x, 1), t));
  const Number far = e.apply(Operation::subtract, e.apply(Operation::exponential, x), real(e, x, 1));
  return e.apply(Operation::select, e.apply(Operation::less, x, real(e, x, -1)), far, near);
}

/// log(1 + y) for y in 0..1, by log's argument rounded to u: log(u) * y / (u - 1).
Number logarithm_of_one_more(Expression& e, Number y) {
  const Number u = e.apply(Operation::add, y, real(e, y, 1));
  const Number over = e.apply(Operation::subtract, u, real(e, y, 1));
  const Number scaled =
      e.apply(Operation::divide, e.apply(Operation::multiply, e.apply(Operation::logarithm, u), y), over);
  return e.apply(Operation::select, e.apply(Operation::equal, over, real(e, y, 0)), y, scaled);
}

Unlowered lower_softplus(LowerCall& call) {
  return real_function(call, [](Expression& e, Number x) { softplus_of(e, x); });
}

Unlowered lower_mish(LowerCall& call) {
  return real_function(call, [](Expression& e, Number x) {
    e.apply(Operation::multiply, x, e.apply(Operation::tanh, softplus_of(e, x)));
  });
}

Unlowered lower_softsign(LowerCall& call) {
  return real_function(call, [](Expression& e, Number x) {
    e.apply(Operation::divide, x, e.apply(Operation::add, e.apply(Operation::absolute, x), real(e, x, 1)));
  });
}

Unlowered lower_elu(LowerCall& call) {
  return real_function(call, [&](Expression& e, Number x) {
    const Number is_negative = e.apply(Operation::less, x, real(e, x, 0));
    const Number below = e.apply(Operation::multiply, real(e, x, static_cast<double>(call.real("alpha"))),
                                 exponential_minus_one(e, e.apply(Operation::minimum, x, real(e, x, 0))));
    e.apply(Operation::select, is_negative, below, x);
  });
}

Unlowered lower_selu(LowerCall& call) {
  return real_function(call, [&](Expression& e, Number x) {
    const Number is_positive = e.apply(Operation::less, real(e, x, 0), x);
    const Number below = e.apply(Operation::multiply, real(e, x, static_cast<double>(call.real("alpha"))),
                                 exponential_minus_one(e, e.apply(Operation::minimum, x, real(e, x, 0))));
    const Number either = e.apply(Operation::select, is_positive, x, below);
    e.apply(Operation::multiply, either, real(e, x, static_cast<double>(call.real("gamma"))));
  });
}

Unlowered lower_celu(LowerCall& call) {
  const auto alpha = static_cast<double>(call.real("alpha"));
  if (!(alpha > 0)) return "alpha is not positive";
  return real_function(call, [&](Expression& e, Number x) {
    const Number negative = e.apply(Operation::minimum, x, real(e, x, 0));
    const Number below = e.apply(Operation::multiply, real(e, x, alpha),
                                 exponential_minus_one(e, e.apply(Operation::divide, negative, real(e, x, alpha))));
    e.apply(Operation::add, e.apply(Operation::maximum, x, real(e, x, 0)), below);
  });
}

Unlowered lower_thresholded_relu(LowerCall& call) {
  return real_function(call, [&](Expression& e, Number x) {
    const Number alpha = real(e, x, static_cast<double>(call.real("alpha")));
    e.apply(Operation::select, e.apply(Operation::less, alpha, x), x, real(e, x, 0));
  });
}

Unlowered lower_shrink(LowerCall& call) {
  return real_function(call, [&](Expression& e, Number x) {
    const auto lambd = static_cast<double>(call.real("lambd")), bias = static_cast<double>(call.real("bias"));
    const Number is_below = e.apply(Operation::less, x, real(e, x, -lambd));
    const Number is_above = e.apply(Operation::less, real(e, x, lambd), x);
    const Number above =
        e.apply(Operation::select, is_above, e.apply(Operation::subtract, x, real(e, x, bias)), real(e, x, 0));
    e.apply(Operation::select, is_below, e.apply(Operation::add, x, real(e, x, bias)), above);
  });
}

Unlowered lower_is_infinite(LowerCall& call) {
  const bool negative = call.integer("detect_negative", 1) != 0, positive = call.integer("detect_positive", 1) != 0;
  return real_function(call, [&](Expression& e, Number x) {
    const Number is_negative = e.apply(Operation::less, x, real(e, x, 0));
    const Number counts = e.apply(Operation::select, is_negative, e.integer(negative), e.integer(positive));
    e.apply(Operation::logical_and, e.apply(Operation::is_infinite, x), counts);
  });
}

template <Operation operation>
Unlowered lower_bits(LowerCall& call) {
  return lower_elementwise(call, [](Expression& e, const Numbers& x) -> Unlowered {
    if (x.size() == 1)
      e.apply(operation, x[0]);
    else
      e.apply(operation, x[0], x[1]);
    return std::nullopt;
  });
}

Unlowered lower_bit_shift(LowerCall& call) {
  const bool is_left = call.string("direction") == "LEFT";
  return lower_elementwise(call, [&](Expression& e, const Numbers& x) -> Unlowered {
    e.apply(is_left ? Operation::shift_left : Operation::shift_right, x[0], x[1]);
    return std::nullopt;
  });
}

Unlowered lower_mod(LowerCall& call) {
  const bool as_c = call.integer("fmod") != 0;
  if (!as_c && call.since() < 28 && is_floating(call.output_type(0))) return "undefined for real numbers";
  return lower_elementwise(call, [&](Expression& e, const Numbers& x) -> Unlowered {
    e.apply(as_c ? Operation::floating_modulo : Operation::modulo, x[0], x[1]);
    return std::nullopt;
  });
}

}  // namespace

Expression::Number softplus_of(Expression& e, Expression::Number x) {
  const Number fading = e.apply(Operation::exponential, e.apply(Operation::negate, e.apply(Operation::absolute, x)));
  return e.apply(Operation::add, e.apply(Operation::maximum, x, real(e, x, 0)), logarithm_of_one_more(e, fading));
}

void register_activations(LoweringRegistry& registry);
void register_activations(LoweringRegistry& registry) {
  using enum Operation;
  registry.add("Acos", all_versions(), lower_function<arc_cosine>);
  registry.add("Acosh", all_versions(), lower_function<arc_hyperbolic_cosine>);
  registry.add("Asin", all_versions(), lower_function<arc_sine>);
  registry.add("Asinh", all_versions(), lower_function<arc_hyperbolic_sine>);
  registry.add("Atan", all_versions(), lower_function<arc_tangent>);
  registry.add("Atanh", all_versions(), lower_function<arc_hyperbolic_tangent>);
  registry.add("Cosh", all_versions(), lower_function<hyperbolic_cosine>);
  registry.add("Sinh", all_versions(), lower_function<hyperbolic_sine>);
  registry.add("Tan", all_versions(), lower_function<tangent>);
  registry.add("IsNaN", all_versions(), lower_function<is_nan>);
  registry.add("IsInf", all_versions(), lower_is_infinite);
  registry.add("Softplus", all_versions(), lower_softplus);
  registry.add("Softsign", all_versions(), lower_softsign);
  registry.add("Mish", all_versions(), lower_mish);
  registry.add("Elu", since(6), lower_elu);
  registry.add("Selu", since(6), lower_selu);
  registry.add("Celu", all_versions(), lower_celu);
  registry.add("ThresholdedRelu", all_versions(), lower_thresholded_relu);
  registry.add("Shrink", all_versions(), lower_shrink);
  registry.add("BitwiseAnd", all_versions(), lower_bits<bitwise_and>);
  registry.add("BitwiseOr", all_versions(), lower_bits<bitwise_or>);
  registry.add("BitwiseXor", all_versions(), lower_bits<bitwise_xor>);
  registry.add("BitwiseNot", all_versions(), lower_bits<bitwise_not>);
  registry.add("BitShift", all_versions(), lower_bit_shift);
  registry.add("Mod", all_versions(), lower_mod);
}

}  // namespace onnxkit::plan
