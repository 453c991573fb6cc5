// Operators, element by element, that ONNX has not: several nodes each.
#include <cmath>
#include <limits>

#include "converters/foreign/complex_numbers.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

Operands floating_operands(Call& call) {
  ElementType type = promoted(call, "self", "other");
  if (!is_floating(type)) type = ElementType::float32;
  return {call.number("self", type), call.number("other", type), type};
}

/// max(a, b) + log(1 + exp(-|a - b|)), to the base e or 2; equal infinities stay.
template <int base>
void map_log_add_exp(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = floating_operands(call);
  const double scale = base == 2 ? std::log(2.0) : 1;
  const Val gap = onnx.emit("Neg", {onnx.emit("Abs", {onnx.emit("Sub", {x.a, x.b})})});
  const Val more = onnx.emit("Softplus", {onnx.emit("Mul", {gap, onnx.scalar(x.type, scale)})});
  const Val sum =
      onnx.emit("Add", {onnx.emit("Max", {x.a, x.b}), onnx.emit("Mul", {more, onnx.scalar(x.type, 1 / scale)})});
  const Val is_infinite = onnx.emit("And", {onnx.emit("IsInf", {x.a}), onnx.emit("Equal", {x.a, x.b})});
  call.result(onnx.emit("Where", {is_infinite, x.a, sum}));
}

/// The larger one is factored out, so that no square overflows.
void map_hypot(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = floating_operands(call);
  const Val a = onnx.emit("Abs", {x.a}), b = onnx.emit("Abs", {x.b});
  const Val large = onnx.emit("Max", {a, b}), small = onnx.emit("Min", {a, b});
  const Val zero = onnx.scalar(x.type, 0), one = onnx.scalar(x.type, 1);
  const Val ratio = onnx.emit("Div", {small, large});
  const Val root = onnx.emit("Sqrt", {onnx.emit("Add", {one, onnx.emit("Mul", {ratio, ratio})})});
  const Val is_plain = onnx.emit("Or", {onnx.emit("Equal", {large, zero}), onnx.emit("IsInf", {large})});
  call.result(onnx.emit("Where", {is_plain, large, onnx.emit("Mul", {large, root})}));
}

void map_heaviside(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call, "self", "values");
  const Val zero = onnx.scalar(x.type, 0);
  const Val step = onnx.cast(onnx.emit("Greater", {x.a, zero}), x.type);
  call.result(onnx.emit("Where", {onnx.emit("Equal", {x.a, zero}), x.b, step}));
}

/// The sign of a negative zero shows in its reciprocal.
void map_copysign(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = floating_operands(call);
  const Val size = onnx.emit("Abs", {x.a});
  call.result(onnx.emit("Where", {is_negative(onnx, x.b), onnx.emit("Neg", {size}), size}));
}

/// |a - b| <= atol + rtol |b|, or the same.
void map_isclose(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call);
  if (!is_floating(x.type)) return call.refuse("closeness of integers");
  const Val bound = onnx.emit("Add", {onnx.emit("Mul", {onnx.emit("Abs", {x.b}), call.number("rtol", x.type, 1e-5)}),
                                      call.number("atol", x.type, 1e-8)});
  const Val gap = onnx.emit("Abs", {onnx.emit("Sub", {x.a, x.b})});
  const Val finite = onnx.emit("Not", {onnx.emit("IsInf", {gap})});
  const Val is_near = onnx.emit("And", {finite, onnx.emit("LessOrEqual", {gap, bound})});
  Val close = onnx.emit("Or", {onnx.emit("Equal", {x.a, x.b}), is_near});
  if (call.flag("equal_nan", false))
    close = onnx.emit("Or", {close, onnx.emit("And", {onnx.emit("IsNaN", {x.a}), onnx.emit("IsNaN", {x.b})})});
  call.result(close);
}

/// 0 where the factor is 0, if the logarithm has an argument at all.
void map_xlogy(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = floating_operands(call);
  const Val zero = onnx.scalar(x.type, 0);
  const Val none = onnx.emit("And", {onnx.emit("Equal", {x.a, zero}), onnx.emit("Not", {onnx.emit("IsNaN", {x.b})})});
  call.result(onnx.emit("Where", {none, zero, onnx.emit("Mul", {x.a, onnx.emit("Log", {x.b})})}));
}

/// self + weight (end - self)
void map_lerp(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Val gap = onnx.emit("Sub", {call.tensor("end"), x});
  call.result(onnx.emit("Add", {x, onnx.emit("Mul", {gap, call.number("weight", onnx.elem(x))})}));
}

/// self + value tensor1 (times or by) tensor2
template <bool is_quotient>
void map_add_product(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  if (type != onnx.elem(call.tensor("tensor1")) || type != onnx.elem(call.tensor("tensor2")))
    return call.refuse("operands of several types");
  Val product = onnx.emit(is_quotient ? "Div" : "Mul", {call.tensor("tensor1"), call.tensor("tensor2")});
  if (call.has("value")) product = onnx.emit("Mul", {product, call.number("value", type)});
  call.result(onnx.emit("Add", {x, product}));
}

/// The larger or the smaller of both; of NaN and a number the number.
void map_extreme_of_numbers(Call& call, std::string_view op) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call);
  if (x.type == ElementType::boolean) return call.result(onnx.emit(op == "Max" ? "Or" : "And", {x.a, x.b}));
  const Val extreme = onnx.emit(op, {x.a, x.b});
  if (!is_floating(x.type)) return call.result(extreme);
  const Val unless_b = onnx.emit("Where", {onnx.emit("IsNaN", {x.b}), x.a, extreme});
  call.result(onnx.emit("Where", {onnx.emit("IsNaN", {x.a}), x.b, unless_b}));
}

void map_fmax(Call& call) { map_extreme_of_numbers(call, "Max"); }
void map_fmin(Call& call) { map_extreme_of_numbers(call, "Min"); }

void map_isfinite(Call& call) {
  auto& onnx = call.onnx;
  const Val x = floating_operand(call);
  call.result(onnx.emit("Not", {onnx.emit("Or", {onnx.emit("IsNaN", {x}), onnx.emit("IsInf", {x})})}));
}

template <bool is_positive>
void map_infinite(Call& call) {
  const std::int64_t positive = is_positive ? 1 : 0;
  call.result(call.onnx.emit("IsInf", {floating_operand(call)},
                             {{"detect_positive", positive}, {"detect_negative", 1 - positive}}));
}

double largest_number(ElementType type) {
  if (type == ElementType::float16) return 65504;
  if (type == ElementType::float64) return std::numeric_limits<double>::max();
  return type == ElementType::bfloat16 ? 3.3895313892515355e38 : std::numeric_limits<float>::max();
}

void map_nan_to_num(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  if (!is_floating(type)) return call.result(x);
  const auto infinite = [&](std::int64_t positive) {
    return onnx.emit("IsInf", {x}, {{"detect_positive", positive}, {"detect_negative", 1 - positive}});
  };
  Val y = onnx.emit("Where", {onnx.emit("IsNaN", {x}), call.number("nan", type), x});
  y = onnx.emit("Where", {infinite(1), call.number("posinf", type, largest_number(type)), y});
  call.result(onnx.emit("Where", {infinite(0), call.number("neginf", type, -largest_number(type)), y}));
}

void map_frac(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Val whole = onnx.emit("Mul", {onnx.emit("Sign", {x}), onnx.emit("Floor", {onnx.emit("Abs", {x})})});
  call.result(onnx.emit("Sub", {x, whole}));
}

template <bool to_degrees>
void map_angle_unit(Call& call) {
  constexpr double degree = 0.017453292519943295;
  const Val x = floating_operand(call);
  call.result(call.onnx.emit("Mul", {x, call.onnx.scalar(call.onnx.elem(x), to_degrees ? 1 / degree : degree)}));
}

/// log(x / (1 - x)), x brought into [eps, 1 - eps].
void map_logit(Call& call) {
  auto& onnx = call.onnx;
  Val x = floating_operand(call);
  const ElementType type = onnx.elem(x);
  const Val one = onnx.scalar(type, 1);
  if (call.has("eps")) {
    const double eps = call.real("eps", 0);
    x = onnx.emit("Min", {onnx.emit("Max", {x, onnx.scalar(type, eps)}), onnx.scalar(type, 1 - eps)});
  }
  call.result(onnx.emit("Log", {onnx.emit("Div", {x, onnx.emit("Sub", {one, x})})}));
}

void map_round_decimals(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  if (!is_floating(onnx.elem(x))) return call.result(x);
  const std::int64_t decimals = call.integer("decimals", 0);
  constexpr std::int64_t most = 300;
  if (decimals < -most || decimals > most) return call.refuse("so many decimals");
  if (decimals == 0) return call.result(onnx.emit("Round", {x}));
  const Val unit = onnx.scalar(onnx.elem(x), std::pow(10.0, static_cast<double>(std::abs(decimals))));
  const Val scaled = onnx.emit(decimals > 0 ? "Mul" : "Div", {x, unit});
  call.result(onnx.emit(decimals > 0 ? "Div" : "Mul", {onnx.emit("Round", {scaled}), unit}));
}

void map_sinc(Call& call) {
  auto& onnx = call.onnx;
  const Val x = floating_operand(call);
  const ElementType type = onnx.elem(x);
  const Val angle = onnx.emit("Mul", {x, onnx.scalar(type, 3.14159265358979323846)});
  const Val wave = onnx.emit("Div", {onnx.emit("Sin", {angle}), angle});
  call.result(onnx.emit("Where", {onnx.emit("Equal", {x, onnx.scalar(type, 0)}), onnx.scalar(type, 1), wave}));
}

void map_threshold(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  const Val is_low = onnx.emit("LessOrEqual", {x, call.number("threshold", type)});
  call.result(onnx.emit("Where", {is_low, call.number("value", type), x}));
}

/// Nothing up to the bound; beyond it x, or x less the bound.
template <bool is_soft>
void map_shrink(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  const double bound = call.real("lambd", 0.5);
  const Val inside = onnx.emit("LessOrEqual", {onnx.emit("Abs", {x}), onnx.scalar(type, bound)});
  const Val moved = onnx.emit("Mul", {onnx.emit("Sign", {x}), onnx.scalar(type, is_soft ? bound : 0)});
  call.result(onnx.emit("Where", {inside, onnx.scalar(type, 0), onnx.emit("Sub", {x, moved})}));
}

}  // namespace

void register_elementwise_composite(Mappings& mappings);
void register_elementwise_composite(Mappings& mappings) {
  mappings.add("aten.logaddexp.default", map_log_add_exp<1>);
  mappings.add("aten.logaddexp2.default", map_log_add_exp<2>);
  mappings.add("aten.hypot.default", map_hypot);
  mappings.add("aten.heaviside.default", map_heaviside);
  mappings.add({"aten.copysign.Tensor", "aten.copysign.Scalar"}, map_copysign);
  mappings.add("aten.isclose.default", map_isclose);
  mappings.add({"aten.xlogy.Tensor", "aten.xlogy.Scalar_Other", "aten.xlogy.Scalar_Self", "aten.special_xlogy.default"},
               map_xlogy);
  mappings.add({"aten.lerp.Scalar", "aten.lerp.Tensor"}, map_lerp);
  mappings.add("aten.addcmul.default", map_add_product<false>);
  mappings.add("aten.addcdiv.default", map_add_product<true>);
  mappings.add("aten.fmax.default", map_fmax);
  mappings.add("aten.fmin.default", map_fmin);
  mappings.add("aten.isfinite.default", map_isfinite);
  mappings.add("aten.isposinf.default", map_infinite<true>);
  mappings.add("aten.isneginf.default", map_infinite<false>);
  mappings.add("aten.nan_to_num.default", map_nan_to_num);
  mappings.add("aten.frac.default", map_frac);
  mappings.add("aten.rad2deg.default", map_angle_unit<true>);
  mappings.add("aten.deg2rad.default", map_angle_unit<false>);
  mappings.add({"aten.logit.default", "aten.special_logit.default"}, map_logit);
  mappings.add("aten.round.decimals", map_round_decimals);
  mappings.add({"aten.sinc.default", "aten.special_sinc.default"}, map_sinc);
  mappings.add("aten.threshold.default", map_threshold);
  mappings.add("aten.softshrink.default", map_shrink<true>);
  mappings.add("aten.hardshrink.default", map_shrink<false>);
}

}  // namespace onnxkit::pt2
