#include <algorithm>
#include <cmath>
#include <limits>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/elementwise.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

template <Operation operation>
Unlowered lower_unary(LowerCall& call) {
  return lower_elementwise(call, [](Expression& e, const std::vector<Number>& x) -> Unlowered {
    e.apply(operation, x[0]);
    return std::nullopt;
  });
}

/// Of real numbers only.
template <Operation operation>
Unlowered lower_real_unary(LowerCall& call) {
  return lower_elementwise(call, [](Expression& e, const std::vector<Number>& x) -> Unlowered {
    if (!is_real_lane(e, x[0])) return "only for real numbers";
    e.apply(operation, x[0]);
    return std::nullopt;
  });
}

/// Folds any number of operands.
template <Operation operation>
Unlowered lower_binary(LowerCall& call) {
  return lower_elementwise(call, [](Expression& e, const std::vector<Number>& x) -> Unlowered {
    Number sum = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) sum = e.apply(operation, sum, x[i]);
    return std::nullopt;
  });
}

Unlowered lower_mean(LowerCall& call) {
  return lower_elementwise(call, [](Expression& e, const std::vector<Number>& x) -> Unlowered {
    Number sum = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) sum = e.apply(Operation::add, sum, x[i]);
    e.apply(Operation::divide, sum, e.constant(e.lane(sum), static_cast<double>(x.size())));
    return std::nullopt;
  });
}

/// An exponent of another type is rounded only if it is known to stay what it is: whether it is even decides about the sign.
Unlowered lower_power(LowerCall& call) {
  const auto exponent = call.constant_real(1);
  const bool is_float = exponent && static_cast<double>(static_cast<float>(*exponent)) == *exponent;
  return lower_elementwise(call, [&](Expression& e, const std::vector<Number>& x) -> Unlowered {
    const Lane lane = e.lane(x[0]);
    if (!is_real_lane(e, x[0])) return "only for real numbers";
    const Lane computed = is_float || e.lane(x[1]) == Lane::f32 ? lane : Lane::f64;
    e.convert(e.apply(Operation::power, e.convert(x[0], computed), e.convert(x[1], computed)), lane);
    return std::nullopt;
  });
}

template <Operation operation, bool swaps = false>
Unlowered lower_comparison(LowerCall& call) {
  return lower_elementwise(call, [](Expression& e, const std::vector<Number>& x) -> Unlowered {
    e.apply(operation, x[swaps ? 1 : 0], x[swaps ? 0 : 1]);
    return std::nullopt;
  });
}

Unlowered lower_where(LowerCall& call) {
  return lower_elementwise(call, [](Expression& e, const std::vector<Number>& x) -> Unlowered {
    e.apply(Operation::select, x[0], x[1], x[2]);
    return std::nullopt;
  });
}

Unlowered lower_relu(LowerCall& call) {
  return lower_elementwise(call, [](Expression& e, const std::vector<Number>& x) -> Unlowered {
    e.apply(Operation::maximum, x[0], e.constant(e.lane(x[0]), 0));
    return std::nullopt;
  });
}

Unlowered lower_leaky_relu(LowerCall& call) {
  return lower_elementwise(call, [&](Expression& e, const std::vector<Number>& x) -> Unlowered {
    const Number zero = e.constant(e.lane(x[0]), 0);
    const Number scaled = e.apply(Operation::multiply, x[0], e.constant(e.lane(x[0]), call.real("alpha")));
    e.apply(Operation::select, e.apply(Operation::less, x[0], zero), scaled, x[0]);
    return std::nullopt;
  });
}

Unlowered lower_prelu(LowerCall& call) {
  return lower_elementwise(call, [](Expression& e, const std::vector<Number>& x) -> Unlowered {
    const Number zero = e.constant(e.lane(x[0]), 0);
    e.apply(Operation::select, e.apply(Operation::less, x[0], zero), e.apply(Operation::multiply, x[1], x[0]), x[0]);
    return std::nullopt;
  });
}

/// min(max(x * alpha + beta, 0), 1), times x for HardSwish.
template <bool times_x>
Unlowered lower_hard_sigmoid(LowerCall& call) {
  return lower_elementwise(call, [&](Expression& e, const std::vector<Number>& x) -> Unlowered {
    const Lane lane = e.lane(x[0]);
    const double alpha = times_x ? 1.0 / 6 : static_cast<double>(call.real("alpha")),
                 beta = times_x ? 0.5 : static_cast<double>(call.real("beta"));
    const Number line =
        e.apply(Operation::add, e.apply(Operation::multiply, x[0], e.constant(lane, alpha)), e.constant(lane, beta));
    const Number clamped =
        e.apply(Operation::minimum, e.apply(Operation::maximum, line, e.constant(lane, 0)), e.constant(lane, 1));
    if (times_x) e.apply(Operation::multiply, x[0], clamped);
    return std::nullopt;
  });
}

/// The greatest finite number of the type.
double greatest_real(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return 65504;
    case ElementType::bfloat16:
      return 0x1.fep127;
    case ElementType::float64:
      return std::numeric_limits<double>::max();
    default:
      return static_cast<double>(std::numeric_limits<float>::max());
  }
}

Unlowered lower_clip(LowerCall& call) {
  if (call.since() < 11) return "bounds are attributes";
  return lower_elementwise(call, [&](Expression& e, const std::vector<Number>& x) -> Unlowered {
    Number result = x[0];
    const bool is_real = is_real_lane(e, result);
    const double most = greatest_real(call.output_type(0));
    std::size_t next = 1;
    // Without a bound it is that of the type; one that is NaN is none.
    for (const bool is_lower : {true, false}) {
      const std::size_t input = is_lower ? 1 : 2;
      if (!call.has_input(input)) {
        if (is_real)
          result = e.apply(is_lower ? Operation::maximum : Operation::minimum, result,
                           e.constant(e.lane(result), is_lower ? -most : most));
        continue;
      }
      const Number bound = x[next++];
      const auto known = call.constant_real(input);
      if (!is_real || (known && !std::isnan(*known))) {
        result = e.apply(is_lower ? Operation::maximum : Operation::minimum, result, bound);
      } else {
        const Number is_out =
            is_lower ? e.apply(Operation::less, result, bound) : e.apply(Operation::less, bound, result);
        result = e.apply(Operation::select, is_out, bound, result);
      }
    }
    return std::nullopt;
  });
}

/// x / 2 * (1 + inner).
Number gelu_of(Expression& e, Number x, Number inner) {
  const Number half = e.apply(Operation::multiply, x, e.constant(e.lane(x), 0.5));
  return e.apply(Operation::multiply, half, e.apply(Operation::add, inner, e.constant(e.lane(x), 1)));
}

Unlowered lower_gelu(LowerCall& call) {
  return lower_elementwise(call, [&](Expression& e, const std::vector<Number>& x) -> Unlowered {
    if (call.string("approximate") == "tanh") {
      tanh_gelu(e, x[0]);
      return std::nullopt;
    }
    const Number scaled = e.apply(Operation::multiply, x[0], e.constant(e.lane(x[0]), 0.7071067811865476));
    gelu_of(e, x[0], e.apply(Operation::erf, scaled));
    return std::nullopt;
  });
}

Unlowered lower_swish(LowerCall& call) {
  return lower_elementwise(call, [&](Expression& e, const std::vector<Number>& x) -> Unlowered {
    swish_of(e, x[0], call.real("alpha", 1));
    return std::nullopt;
  });
}

Unlowered lower_cast(LowerCall& call) {
  const ElementType to = call.output_type(0);
  const ElementType from = call.input_type(0);
  // Numbers out of range are the reference's to decide.
  if (has_lane(from) && lane_of(from) != Lane::i64 && has_lane(to) && lane_of(to) == Lane::i64 &&
      to != ElementType::boolean && to != ElementType::int64 && to != ElementType::int32)
    return "real numbers to narrow integers";
  // Every reader of a constant can widen it, and many need a part of it only.
  if (call.is_stored_constant(0) && is_narrow_real(from) && to == ElementType::float32) {
    call.set_output(0, call.input(0));
    return std::nullopt;
  }
  return lower_elementwise(
      call,
      [&](Expression& e, const std::vector<Number>& x) -> Unlowered {
        Number result = x[0];
        if (to == ElementType::boolean) {
          const Number is_zero = e.apply(Operation::equal, result, e.constant(e.lane(result), 0));
          e.apply(Operation::logical_not, is_zero);
          return std::nullopt;
        }
        // Once: float32 between float64 or integers of many bits and float16 would round twice.
        const bool is_narrow = is_16_bit_real(to), is_long = e.lane(result) == Lane::i64 && storage_bits(from) > 16;
        if (is_narrow && is_long) result = e.convert(result, Lane::f64);
        if (is_narrow && e.lane(result) == Lane::f64) result = e.round_to(result, to);
        result = e.convert(result, lane_of(to));
        if (is_narrow) e.round_to(result, to);
        return std::nullopt;
      },
      1);
}

Unlowered lower_identity(LowerCall& call) {
  call.set_output(0, call.input(0));
  return std::nullopt;
}

}  // namespace

Expression::Number swish_of(Expression& e, Expression::Number x, float alpha) {
  Number inner = x;
  if (alpha != 1) inner = e.apply(Operation::multiply, inner, e.constant(e.lane(inner), alpha));
  return e.apply(Operation::multiply, x, e.apply(Operation::sigmoid, inner));
}

Expression::Number tanh_gelu(Expression& e, Expression::Number x) {
  const auto constant = [&](double value) { return e.constant(e.lane(x), value); };
  const Number square = e.apply(Operation::multiply, x, x);
  const Number factor = e.apply(Operation::add, e.apply(Operation::multiply, square, constant(0.044715)), constant(1));
  const Number scaled =
      e.apply(Operation::multiply, e.apply(Operation::multiply, x, factor), constant(0.7978845608028654));
  return gelu_of(e, x, e.apply(Operation::tanh, scaled));
}

void register_elementwise(LoweringRegistry& registry);
void register_elementwise(LoweringRegistry& registry) {
  using enum Operation;
  registry.add("Neg", all_versions(), lower_unary<negate>);
  registry.add("Abs", all_versions(), lower_unary<absolute>);
  registry.add("Not", all_versions(), lower_unary<logical_not>);
  registry.add("Exp", all_versions(), lower_real_unary<exponential>);
  registry.add("Log", all_versions(), lower_real_unary<logarithm>);
  registry.add("Sqrt", all_versions(), lower_real_unary<square_root>);
  registry.add("Reciprocal", all_versions(), lower_real_unary<reciprocal>);
  registry.add("Tanh", all_versions(), lower_real_unary<tanh>);
  registry.add("Erf", all_versions(), lower_real_unary<erf>);
  registry.add("Sigmoid", all_versions(), lower_real_unary<sigmoid>);
  registry.add("Sin", all_versions(), lower_real_unary<sine>);
  registry.add("Cos", all_versions(), lower_real_unary<cosine>);
  registry.add("Floor", all_versions(), lower_real_unary<floor>);
  registry.add("Ceil", all_versions(), lower_real_unary<ceiling>);
  registry.add("Round", all_versions(), lower_real_unary<round_half_even>);
  registry.add("Sign", all_versions(), lower_unary<sign>);
  registry.add("Add", since(7), lower_binary<add>);
  registry.add("Sub", since(7), lower_binary<subtract>);
  registry.add("Mul", since(7), lower_binary<multiply>);
  registry.add("Div", since(7), lower_binary<divide>);
  registry.add("Sum", since(8), [](LowerCall& call) -> Unlowered {
    if (call.output_type(0) == ElementType::float64 && call.input_count() > 2)
      return "sums of float64 keep what additions round off";
    return lower_binary<add>(call);
  });
  registry.add("Max", since(8), lower_binary<maximum>);
  registry.add("Min", since(8), lower_binary<minimum>);
  registry.add("Mean", since(8), lower_mean);
  registry.add("Pow", since(7), lower_power);
  registry.add("And", since(7), lower_binary<logical_and>);
  registry.add("Or", since(7), lower_binary<logical_or>);
  registry.add("Xor", since(7), lower_binary<logical_xor>);
  registry.add("Equal", since(7), lower_comparison<equal>);
  registry.add("Less", since(7), lower_comparison<less>);
  registry.add("Greater", since(7), lower_comparison<less, true>);
  registry.add("LessOrEqual", all_versions(), lower_comparison<less_or_equal>);
  registry.add("GreaterOrEqual", all_versions(), lower_comparison<less_or_equal, true>);
  registry.add("Where", all_versions(), lower_where);
  registry.add("Relu", all_versions(), lower_relu);
  registry.add("LeakyRelu", since(6), lower_leaky_relu);
  registry.add("PRelu", since(9), lower_prelu);
  registry.add("HardSigmoid", since(6), lower_hard_sigmoid<false>);
  registry.add("HardSwish", all_versions(), lower_hard_sigmoid<true>);
  registry.add("Clip", all_versions(), lower_clip);
  registry.add("Gelu", all_versions(), lower_gelu);
  registry.add("Swish", all_versions(), lower_swish);
  for (const char* op : {"Cast", "CastLike"}) registry.add(op, since(9), lower_cast);
  registry.add("Identity", all_versions(), lower_identity);
  registry.add("Dropout", all_versions(), [](LowerCall& call) -> Unlowered {
    if (call.has_input(2) || call.has_output(1)) return "training";
    return lower_identity(call);
  });
}

}  // namespace onnxkit::plan
