// Operators of one or two inputs, element by element.
#include <algorithm>
#include <numeric>
#include <optional>

#include "converters/foreign/complex_numbers.h"
#include "converters/formats/tflite/lower.h"
#include "converters/formats/tflite/pair_scales.h"
#include "converters/formats/tflite/rounding.h"
#include "libonnxkit/base/dtype/dtype.h"

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

// ---- sums and products of integers

Steps steps_of(const Quantization& quantization) {
  return {quantization.scales.front(), quantization.zero_points.front()};
}

/// How the kernel for integers computes the node; none when it computes on others.
std::optional<PairOperator> pair_operator(Call& call, PairKernel kernel) {
  const Quantization *left = quantized_bytes(call, "x"), *right = quantized_bytes(call, "y");
  const auto range = integer_range(call.declared_elem());
  if (!left || !right || !range) return std::nullopt;
  const Quantization& result = *quantization_of(call.declared_output());
  const PairOperator op{kernel, steps_of(*left), steps_of(*right), steps_of(result), range->first, range->second};
  return has_kernel(op) ? std::optional(op) : std::nullopt;
}

/// The integers that an input may have: those that are stored, else all.
std::vector<std::int64_t> possible_integers(Call& call, std::string_view name, const PairOperator& op) {
  std::vector<std::int64_t> integers(static_cast<std::size_t>(op.greatest - op.least + 1));
  std::iota(integers.begin(), integers.end(), op.least);
  const foreign::Tensor* stored = call.stored(name);
  if (!stored) return integers;
  std::vector<bool> occurs(integers.size(), false);
  const bool is_signed = stored->elem == ElementType::int8;
  for (const std::byte byte : stored->bytes) {
    const auto value = std::to_integer<std::uint8_t>(byte);
    occurs[static_cast<std::size_t>((is_signed ? static_cast<std::int8_t>(value) : value) - op.least)] = true;
  }
  std::erase_if(integers, [&](std::int64_t i) { return !occurs[static_cast<std::size_t>(i - op.least)]; });
  return integers;
}

PairScales scales_for(Call& call, PairOperator op) {
  const bool is_exchanged = op.kernel != PairKernel::subtract && call.stored("x");
  if (is_exchanged) std::swap(op.left, op.right);
  PairScales scales = pair_scales(op, possible_integers(call, is_exchanged ? "x" : "y", op));
  if (is_exchanged) std::swap(scales.left, scales.right);
  return scales;
}

/// The kernel's own arithmetic, in steps of the result: where products lie on both sides of halves with any scales.
Val product_on_grid(Call& call, const PairOperator& op) {
  auto& onnx = call.onnx;
  const auto number = [&](float value) { return onnx.scalar(ElementType::float32, value); };
  const auto integers = [&](std::string_view name, const Steps& steps) {
    const Val x = onnx.cast(call.tensor(name), ElementType::float32);
    return steps.zero_point == 0 ? x : onnx.emit("Sub", {x, number(static_cast<float>(steps.zero_point))});
  };
  const Val product = onnx.emit("Mul", {integers("x", op.left), integers("y", op.right)});
  const Val steps = onnx.emit("Mul", {product, number(op.left.scale * op.right.scale / op.result.scale)});
  return onnx.emit("Mul", {onnx.emit("Round", {steps}), number(op.result.scale)});
}

template <PairKernel kernel, const char* const& name>
void map_pair(Call& call) {
  const std::optional<PairOperator> op = pair_operator(call, kernel);
  if (!op) return map_binary<name>(call);
  const PairScales scales = scales_for(call, *op);
  if (!scales.give_all && kernel == PairKernel::multiply) return give_activated(call, product_on_grid(call, *op));
  const Val x = real_of_scale(call, "x", scales.left), y = real_of_scale(call, "y", scales.right);
  give_activated(call, call.onnx.emit(name, {x, y}));
}

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

void map_atan2(Call& call) { give(call, foreign::angle_of(call.onnx, real(call, "y"), real(call, "x"))); }

void map_bits(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  give(call, call.onnx.emit("BitwiseXor", {x, y}));
}

}  // namespace

void register_elementwise(Mappings& mappings);
void register_elementwise(Mappings& mappings) {
  mappings.add("ATAN2", {"y", "x"}, map_atan2);
  mappings.add("BITWISE_XOR", {"x", "y"}, map_bits);
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
  mappings.add("ADD", {"x", "y"}, map_pair<PairKernel::add, add_op>);
  mappings.add("SUB", {"x", "y"}, map_pair<PairKernel::subtract, sub_op>);
  mappings.add("MUL", {"x", "y"}, map_pair<PairKernel::multiply, mul_op>);
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
