// Operators of one or two inputs, element by element.
#include <algorithm>

#include "converters/formats/tflite/lower.h"
#include "converters/formats/tflite/rounding.h"

namespace onnxkit::tflite {
namespace {

template <const char* const& op>
void map_unary(Call& call) {
  give(call, call.onnx.emit(op, {real(call, "x")}));
}
template <const char* const& op>
void map_binary(Call& call) {
  const Val x = real(call, "x"), y = real(call, "y");
  give_activated(call, call.onnx.emit(op, {x, y}));
}

constexpr const char *abs_op = "Abs", *neg_op = "Neg", *exp_op = "Exp", *log_op = "Log", *sqrt_op = "Sqrt",
                     *sin_op = "Sin", *cos_op = "Cos", *floor_op = "Floor", *ceil_op = "Ceil", *round_op = "Round",
                     *sign_op = "Sign", *not_op = "Not";
constexpr const char *add_op = "Add", *sub_op = "Sub", *mul_op = "Mul", *div_op = "Div", *pow_op = "Pow",
                     *less_op = "Less", *less_or_equal_op = "LessOrEqual", *greater_op = "Greater",
                     *greater_or_equal_op = "GreaterOrEqual", *equal_op = "Equal", *and_op = "And", *or_op = "Or",
                     *max_op = "Max", *min_op = "Min";

void map_rsqrt(Call& call) { give(call, call.onnx.emit("Reciprocal", {call.onnx.emit("Sqrt", {real(call, "x")})})); }

void map_square(Call& call) {
  const Val x = real(call, "x");
  give(call, call.onnx.emit("Mul", {x, x}));
}

/// The kernel for integers brings both inputs to steps of a 64th of the greater scale.
void map_squared_difference(Call& call) {
  Val x = real(call, "x"), y = real(call, "y");
  if (const Quantization* left = quantized_bytes(call, "x"), *right = quantized_bytes(call, "y"); left && right) {
    const float a = left->scales.front(), b = right->scales.front();
    if (a != b) (a < b ? x : y) = on_grid(call, a < b ? x : y, std::max(a, b) / 64);
  }
  const Val difference = call.onnx.emit("Sub", {x, y});
  give(call, call.onnx.emit("Mul", {difference, difference}));
}

void map_not_equal(Call& call) {
  const Val x = real(call, "x"), y = real(call, "y");
  give(call, call.onnx.emit("Not", {call.onnx.emit("Equal", {x, y})}));
}

/// ONNX's Div cuts off towards zero for integers, which is not the floor of quotients below zero.
void map_floor_div(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "x"), y = real(call, "y");
  if (is_floating(onnx.elem(x))) return give(call, onnx.emit("Floor", {onnx.emit("Div", {x, y})}));
  const Val remainder = onnx.emit("Mod", {x, y});
  give(call, onnx.emit("Div", {onnx.emit("Sub", {x, remainder}), y}));
}

/// The remainder has the sign of the divisor.
void map_floor_mod(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "x"), y = real(call, "y");
  if (!is_floating(onnx.elem(x))) return give(call, onnx.emit("Mod", {x, y}));
  const Val quotient = onnx.emit("Floor", {onnx.emit("Div", {x, y})});
  give(call, onnx.emit("Sub", {x, onnx.emit("Mul", {quotient, y})}));
}

void map_add_n(Call& call) { give(call, call.onnx.emit("Sum", reals(call, "xs"))); }

void map_select(Call& call) {
  const Val condition = call.tensor("condition");
  const Val x = movable(call, "x"), y = movable(call, "y");
  if (call.onnx.elem(x) != call.onnx.elem(y)) return call.refuse("its two values are quantized differently");
  give(call, call.onnx.emit("Where", {condition, x, y}));
}

/// The older form: a condition without further axes chooses among the first axis.
void map_old_select(Call& call) {
  const Val condition = call.tensor("condition");
  if (call.rank(condition) != 0 && call.rank(condition) != call.rank(call.tensor("x")))
    return call.refuse("its condition has fewer axes than its values");
  map_select(call);
}

}  // namespace

void register_elementwise(Mappings& mappings);
void register_elementwise(Mappings& mappings) {
  mappings.add("ABS", {"x"}, map_unary<abs_op>);
  mappings.add("NEG", {"x"}, map_unary<neg_op>);
  mappings.add("EXP", {"x"}, map_unary<exp_op>);
  mappings.add("LOG", {"x"}, map_unary<log_op>);
  mappings.add("SQRT", {"x"}, map_unary<sqrt_op>);
  mappings.add("SIN", {"x"}, map_unary<sin_op>);
  mappings.add("COS", {"x"}, map_unary<cos_op>);
  mappings.add("FLOOR", {"x"}, map_unary<floor_op>);
  mappings.add("CEIL", {"x"}, map_unary<ceil_op>);
  mappings.add("ROUND", {"x"}, map_unary<round_op>);
  mappings.add("SIGN", {"x"}, map_unary<sign_op>);
  mappings.add("LOGICAL_NOT", {"x"}, map_unary<not_op>);
  mappings.add("RSQRT", {"x"}, map_rsqrt);
  mappings.add("SQUARE", {"x"}, map_square);
  mappings.add("ADD", {"x", "y"}, map_binary<add_op>);
  mappings.add("SUB", {"x", "y"}, map_binary<sub_op>);
  mappings.add("MUL", {"x", "y"}, map_binary<mul_op>);
  mappings.add("DIV", {"x", "y"}, map_binary<div_op>);
  mappings.add("POW", {"x", "y"}, map_binary<pow_op>);
  mappings.add("MAXIMUM", {"x", "y"}, map_binary<max_op>);
  mappings.add("MINIMUM", {"x", "y"}, map_binary<min_op>);
  mappings.add("LESS", {"x", "y"}, map_binary<less_op>);
  mappings.add("LESS_EQUAL", {"x", "y"}, map_binary<less_or_equal_op>);
  mappings.add("GREATER", {"x", "y"}, map_binary<greater_op>);
  mappings.add("GREATER_EQUAL", {"x", "y"}, map_binary<greater_or_equal_op>);
  mappings.add("EQUAL", {"x", "y"}, map_binary<equal_op>);
  mappings.add("NOT_EQUAL", {"x", "y"}, map_not_equal);
  mappings.add("LOGICAL_AND", {"x", "y"}, map_binary<and_op>);
  mappings.add("LOGICAL_OR", {"x", "y"}, map_binary<or_op>);
  mappings.add("SQUARED_DIFFERENCE", {"x", "y"}, map_squared_difference);
  mappings.add("FLOOR_DIV", {"x", "y"}, map_floor_div);
  mappings.add("FLOOR_MOD", {"x", "y"}, map_floor_mod);
  mappings.add("ADD_N", {"xs..."}, map_add_n);
  mappings.add("SELECT", {"condition", "x", "y"}, map_old_select);
  mappings.add("SELECT_V2", {"condition", "x", "y"}, map_select);
}

}  // namespace onnxkit::tflite
