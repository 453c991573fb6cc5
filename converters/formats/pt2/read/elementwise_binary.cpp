// Operators of two operands that broadcast.
#include "converters/foreign/complex_numbers.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// a + alpha * b
template <bool is_difference>
void map_sum(Call& call) {
  Operands x = operands_of(call);
  if (x.type == ElementType::boolean) {
    if (is_difference) return call.refuse("booleans are not subtracted");
    return call.result(call.onnx.emit("Or", {x.a, x.b}));
  }
  if (call.has("alpha") && call.real("alpha", 1) != 1) x.b = call.onnx.emit("Mul", {x.b, call.number("alpha", x.type)});
  call.result(as_declared(call, call.onnx.emit(is_difference ? "Sub" : "Add", {x.a, x.b})));
}

/// alpha * b is what self is taken from.
void map_rsub(Call& call) {
  Operands x = operands_of(call);
  if (call.real("alpha", 1) != 1) x.a = call.onnx.emit("Mul", {x.a, call.number("alpha", x.type)});
  call.result(call.onnx.emit("Sub", {x.b, x.a}));
}

void map_mul(Call& call) {
  const Operands x = operands_of(call);
  call.result(as_declared(call, call.onnx.emit(x.type == ElementType::boolean ? "And" : "Mul", {x.a, x.b})));
}

/// Rounds a quotient towards minus infinity, as Python does.
Val floored_quotient(Call& call, const Operands& x) {
  if (is_floating(x.type)) return call.onnx.emit("Floor", {call.onnx.emit("Div", {x.a, x.b})});
  // Div of integers rounds towards zero; what Mod leaves has the sign of the divisor, so the difference divides evenly.
  const Val rest = call.onnx.emit("Mod", {x.a, x.b});
  return call.onnx.emit("Div", {call.onnx.emit("Sub", {x.a, rest}), x.b});
}

void map_div(Call& call) {
  Operands x = operands_of(call);
  const std::string_view mode = call.text("rounding_mode");
  if (mode == "floor") return call.result(as_declared(call, floored_quotient(call, x)));
  if (mode == "trunc" && !is_floating(x.type)) return call.result(call.onnx.emit("Div", {x.a, x.b}));
  if (!is_floating(x.type)) {
    x.a = call.onnx.cast(x.a, ElementType::float32);
    x.b = call.onnx.cast(x.b, ElementType::float32);
  }
  Val quotient = call.onnx.emit("Div", {x.a, x.b});
  if (mode == "trunc") {
    const Val size = call.onnx.emit("Floor", {call.onnx.emit("Abs", {quotient})});
    quotient = call.onnx.emit("Mul", {call.onnx.emit("Sign", {quotient}), size});
  }
  call.result(as_declared(call, quotient));
}

void map_floor_divide(Call& call) { call.result(as_declared(call, floored_quotient(call, operands_of(call)))); }

/// What Python's % gives: the sign of the divisor.
void map_remainder(Call& call) {
  const Operands x = operands_of(call);
  if (!is_floating(x.type)) return call.result(call.onnx.emit("Mod", {x.a, x.b}));
  const Val floored = call.onnx.emit("Floor", {call.onnx.emit("Div", {x.a, x.b})});
  call.result(as_declared(call, call.onnx.emit("Sub", {x.a, call.onnx.emit("Mul", {floored, x.b})})));
}

void map_fmod(Call& call) {
  const Operands x = operands_of(call);
  call.result(as_declared(call, call.onnx.emit("Mod", {x.a, x.b}, {{"fmod", std::int64_t{1}}})));
}

void map_pow(Call& call) {
  const Operands x = operands_of(call, "self", "exponent");
  call.result(as_declared(call, call.onnx.emit("Pow", {x.a, x.b})));
}

template <bool is_maximum>
void map_extremum(Call& call) {
  const Operands x = operands_of(call);
  if (x.type == ElementType::boolean) return call.result(call.onnx.emit(is_maximum ? "Or" : "And", {x.a, x.b}));
  call.result(call.onnx.emit(is_maximum ? "Max" : "Min", {x.a, x.b}));
}

void map_atan2(Call& call) {
  Operands x = operands_of(call);
  auto& onnx = call.onnx;
  if (!is_floating(x.type)) {
    x = {onnx.cast(x.a, ElementType::float32), onnx.cast(x.b, ElementType::float32), ElementType::float32};
  }
  call.result(angle_of(onnx, x.a, x.b));
}

void map_comparison(Call& call, std::string_view op, bool negated) {
  Operands x = operands_of(call);
  const bool orders_booleans = x.type == ElementType::boolean && op != "Equal";
  if (orders_booleans) {
    x.a = call.onnx.cast(x.a, ElementType::int32);
    x.b = call.onnx.cast(x.b, ElementType::int32);
  }
  const Val compared = call.onnx.emit(op, {x.a, x.b});
  call.result(negated ? call.onnx.emit("Not", {compared}) : compared);
}

void map_eq(Call& call) { map_comparison(call, "Equal", false); }
void map_ne(Call& call) { map_comparison(call, "Equal", true); }
void map_lt(Call& call) { map_comparison(call, "Less", false); }
void map_le(Call& call) { map_comparison(call, "LessOrEqual", false); }
void map_gt(Call& call) { map_comparison(call, "Greater", false); }
void map_ge(Call& call) { map_comparison(call, "GreaterOrEqual", false); }

void map_logical(Call& call, std::string_view op) {
  const Val a = call.onnx.cast(call.tensor("self"), ElementType::boolean);
  call.result(call.onnx.emit(op, {a, call.onnx.cast(call.tensor("other"), ElementType::boolean)}));
}

void map_logical_and(Call& call) { map_logical(call, "And"); }
void map_logical_or(Call& call) { map_logical(call, "Or"); }
void map_logical_xor(Call& call) { map_logical(call, "Xor"); }

void map_bitwise(Call& call, std::string_view op, std::string_view of_booleans) {
  const Operands x = operands_of(call);
  call.result(as_declared(call, call.onnx.emit(x.type == ElementType::boolean ? of_booleans : op, {x.a, x.b})));
}

void map_bitwise_and(Call& call) { map_bitwise(call, "BitwiseAnd", "And"); }
void map_bitwise_or(Call& call) { map_bitwise(call, "BitwiseOr", "Or"); }
void map_bitwise_xor(Call& call) { map_bitwise(call, "BitwiseXor", "Xor"); }

}  // namespace

void register_elementwise_binary(Mappings& mappings);
void register_elementwise_binary(Mappings& mappings) {
  mappings.add({"aten.add.Tensor", "aten.add.Scalar"}, map_sum<false>);
  mappings.add({"aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor", "aten.subtract.Scalar"}, map_sum<true>);
  mappings.add({"aten.rsub.Scalar", "aten.rsub.Tensor"}, map_rsub);
  mappings.add({"aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor", "aten.multiply.Scalar"}, map_mul);
  mappings.add(
      {"aten.div.Tensor", "aten.div.Scalar", "aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.true_divide.Tensor",
       "aten.divide.Tensor", "aten.divide.Scalar", "aten.divide.Tensor_mode", "aten.divide.Scalar_mode"},
      map_div);
  mappings.add({"aten.floor_divide.default", "aten.floor_divide.Scalar"}, map_floor_divide);
  mappings.add({"aten.remainder.Tensor", "aten.remainder.Scalar"}, map_remainder);
  mappings.add({"aten.fmod.Tensor", "aten.fmod.Scalar"}, map_fmod);
  mappings.add({"aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar"}, map_pow);
  mappings.add({"aten.maximum.default", "aten.max.other"}, map_extremum<true>);
  mappings.add({"aten.minimum.default", "aten.min.other"}, map_extremum<false>);
  mappings.add("aten.atan2.default", map_atan2);
  mappings.add({"aten.eq.Tensor", "aten.eq.Scalar"}, map_eq);
  mappings.add({"aten.ne.Tensor", "aten.ne.Scalar"}, map_ne);
  mappings.add({"aten.lt.Tensor", "aten.lt.Scalar"}, map_lt);
  mappings.add({"aten.le.Tensor", "aten.le.Scalar"}, map_le);
  mappings.add({"aten.gt.Tensor", "aten.gt.Scalar"}, map_gt);
  mappings.add({"aten.ge.Tensor", "aten.ge.Scalar"}, map_ge);
  mappings.add("aten.logical_and.default", map_logical_and);
  mappings.add("aten.logical_or.default", map_logical_or);
  mappings.add("aten.logical_xor.default", map_logical_xor);
  mappings.add({"aten.bitwise_and.Tensor", "aten.bitwise_and.Scalar", "aten.__and__.Tensor", "aten.__and__.Scalar"},
               map_bitwise_and);
  mappings.add({"aten.bitwise_or.Tensor", "aten.bitwise_or.Scalar", "aten.__or__.Tensor", "aten.__or__.Scalar"},
               map_bitwise_or);
  mappings.add({"aten.bitwise_xor.Tensor", "aten.bitwise_xor.Scalar", "aten.__xor__.Tensor", "aten.__xor__.Scalar"},
               map_bitwise_xor);
}

}  // namespace onnxkit::pt2
