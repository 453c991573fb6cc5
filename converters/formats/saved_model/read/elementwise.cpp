// Operators of one or two inputs, element by element.
#include "converters/foreign/complex_numbers.h"
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

/// ONNX's operator of the same meaning.
struct SameOperator {
  std::string_view op, onnx;
};
constexpr SameOperator unary_operators[] = {
    {"Abs", "Abs"},           {"Neg", "Neg"},     {"Exp", "Exp"},
    {"Log", "Log"},           {"Sqrt", "Sqrt"},   {"Reciprocal", "Reciprocal"},
    {"Inv", "Reciprocal"},    {"Sin", "Sin"},     {"Cos", "Cos"},
    {"Tan", "Tan"},           {"Asin", "Asin"},   {"Acos", "Acos"},
    {"Atan", "Atan"},         {"Sinh", "Sinh"},   {"Cosh", "Cosh"},
    {"Asinh", "Asinh"},       {"Acosh", "Acosh"}, {"Atanh", "Atanh"},
    {"Erf", "Erf"},           {"Floor", "Floor"}, {"Ceil", "Ceil"},
    {"Round", "Round"},       {"Rint", "Round"},  {"Sign", "Sign"},
    {"LogicalNot", "Not"},    {"IsNan", "IsNaN"}, {"IsInf", "IsInf"},
    {"Invert", "BitwiseNot"},
};
constexpr SameOperator binary_operators[] = {
    {"Add", "Add"},
    {"AddV2", "Add"},
    {"Sub", "Sub"},
    {"Mul", "Mul"},
    {"RealDiv", "Div"},
    {"Div", "Div"},
    {"TruncateDiv", "Div"},
    {"Pow", "Pow"},
    {"Maximum", "Max"},
    {"Minimum", "Min"},
    {"Less", "Less"},
    {"LessEqual", "LessOrEqual"},
    {"Greater", "Greater"},
    {"GreaterEqual", "GreaterOrEqual"},
    {"Equal", "Equal"},
    {"LogicalAnd", "And"},
    {"LogicalOr", "Or"},
    {"BitwiseAnd", "BitwiseAnd"},
    {"BitwiseOr", "BitwiseOr"},
    {"BitwiseXor", "BitwiseXor"},
};

template <std::size_t count>
std::string_view onnx_operator(const SameOperator (&operators)[count], std::string_view op) {
  for (const SameOperator& same : operators)
    if (same.op == op) return same.onnx;
  return {};
}

void map_unary(Call& call) {
  call.result(call.onnx.emit(onnx_operator(unary_operators, call.node.op), {call.tensor("x")}));
}
void map_binary(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  call.result(call.onnx.emit(onnx_operator(binary_operators, call.node.op), {x, y}));
}

void map_rsqrt(Call& call) { call.result(call.onnx.emit("Reciprocal", {call.onnx.emit("Sqrt", {call.tensor("x")})})); }
void map_square(Call& call) {
  const Val x = call.tensor("x");
  call.result(call.onnx.emit("Mul", {x, x}));
}

/// exp(x) - 1 and log(1 + x) keep the digits of small x by tanh(x / 2) and atanh(x / (2 + x)).
void map_expm1(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x");
  const ElementType type = onnx.elem(x);
  const Val half = onnx.emit("Tanh", {onnx.emit("Mul", {x, onnx.scalar(type, 0.5)})});
  const Val small = onnx.emit(
      "Div", {onnx.emit("Mul", {half, onnx.scalar(type, 2)}), onnx.emit("Sub", {onnx.scalar(type, 1), half})});
  const Val large = onnx.emit("Sub", {onnx.emit("Exp", {x}), onnx.scalar(type, 1)});
  const Val is_small = onnx.emit("Less", {onnx.emit("Abs", {x}), onnx.scalar(type, 1)});
  call.result(onnx.emit("Where", {is_small, small, large}));
}
void map_log1p(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x");
  const ElementType type = onnx.elem(x);
  const Val ratio = onnx.emit("Div", {x, onnx.emit("Add", {x, onnx.scalar(type, 2)})});
  const Val small = onnx.emit("Mul", {onnx.emit("Atanh", {ratio}), onnx.scalar(type, 2)});
  const Val large = onnx.emit("Log", {onnx.emit("Add", {x, onnx.scalar(type, 1)})});
  const Val is_small = onnx.emit("Less", {onnx.emit("Abs", {x}), onnx.scalar(type, 0.5)});
  call.result(onnx.emit("Where", {is_small, small, large}));
}

void map_erfc(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x");
  call.result(onnx.emit("Sub", {onnx.scalar(onnx.elem(x), 1), onnx.emit("Erf", {x})}));
}

void map_is_finite(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x");
  call.result(onnx.emit("Not", {onnx.emit("Or", {onnx.emit("IsInf", {x}), onnx.emit("IsNaN", {x})})}));
}

void map_squared_difference(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  const Val difference = call.onnx.emit("Sub", {x, y});
  call.result(call.onnx.emit("Mul", {difference, difference}));
}

void map_not_equal(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  call.result(call.onnx.emit("Not", {call.onnx.emit("Equal", {x, y})}));
}

void map_approximate_equal(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x"), y = call.tensor("y");
  const Val distance = onnx.emit("Abs", {onnx.emit("Sub", {x, y})});
  call.result(onnx.emit("Less", {distance, onnx.scalar(onnx.elem(x), call.real("tolerance", 1e-5F))}));
}

/// What is left of a division whose quotient is cut off towards zero, in the sign of x.
Val truncated_remainder(OnnxBuilder& onnx, Val x, Val y) {
  return onnx.emit("Mod", {x, y}, {{"fmod", std::int64_t{1}}});
}

/// In the sign of y.
Val floored_remainder(OnnxBuilder& onnx, Val x, Val y) {
  const ElementType type = onnx.elem(x);
  if (!is_floating(type)) return onnx.emit("Mod", {x, y});
  const Val rest = truncated_remainder(onnx, x, y), zero = onnx.scalar(type, 0);
  const Val differs = onnx.emit("Less", {onnx.emit("Mul", {onnx.emit("Sign", {rest}), onnx.emit("Sign", {y})}), zero});
  return onnx.emit("Where", {differs, onnx.emit("Add", {rest, y}), rest});
}

void map_floor_mod(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  call.result(floored_remainder(call.onnx, x, y));
}
void map_truncate_mod(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  call.result(truncated_remainder(call.onnx, x, y));
}

/// ONNX's Div cuts off towards zero for integers, which is not the floor of quotients below zero.
void map_floor_div(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x"), y = call.tensor("y");
  if (is_floating(onnx.elem(x))) return call.result(onnx.emit("Floor", {onnx.emit("Div", {x, y})}));
  call.result(onnx.emit("Div", {onnx.emit("Sub", {x, onnx.emit("Mod", {x, y})}), y}));
}

/// 0 wherever `deciding` is 0, whatever the other operand makes of it.
Val zero_where_zero(OnnxBuilder& onnx, Val deciding, Val value) {
  const Val zero = onnx.scalar(onnx.elem(deciding), 0);
  return onnx.emit("Where", {onnx.emit("Equal", {deciding, zero}), zero, value});
}
void map_div_no_nan(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  call.result(zero_where_zero(call.onnx, y, call.onnx.emit("Div", {x, y})));
}
void map_mul_no_nan(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  call.result(zero_where_zero(call.onnx, y, call.onnx.emit("Mul", {x, y})));
}
void map_xdivy(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  call.result(zero_where_zero(call.onnx, x, call.onnx.emit("Div", {x, y})));
}
void map_xlogy(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x"), y = call.tensor("y");
  call.result(zero_where_zero(onnx, x, onnx.emit("Mul", {x, onnx.emit("Log", {y})})));
}

void map_atan2(Call& call) { call.result(angle_of(call.onnx, call.tensor("y"), call.tensor("x"))); }

void map_shift(Call& call) {
  const Val x = call.tensor("x"), y = call.tensor("y");
  const std::string direction = call.node.op == "LeftShift" ? "LEFT" : "RIGHT";
  call.result(call.onnx.emit("BitShift", {x, y}, {{"direction", direction}}));
}

void map_add_n(Call& call) {
  const std::vector<Val> inputs = call.tensors("inputs");
  if (inputs.empty()) return call.refuse("it has no inputs");
  Val sum = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = call.onnx.emit("Add", {sum, inputs[i]});
  call.result(sum);
}

void map_bias_add(Call& call) {
  auto& onnx = call.onnx;
  const Val value = call.tensor("value");
  Val bias = call.tensor("bias");
  if (is_channels_first(call)) {
    std::vector<std::int64_t> axes;
    for (std::size_t axis = 2; axis < call.rank(value); ++axis) axes.push_back(static_cast<std::int64_t>(axis) - 1);
    bias = onnx.unsqueeze(bias, axes);
  }
  call.result(onnx.emit("Add", {value, bias}));
}

void map_select(Call& call) {
  const Val condition = call.tensor("condition"), x = call.tensor("t"), y = call.tensor("e");
  call.result(call.onnx.emit("Where", {condition, x, y}));
}

/// The older form: a vector as condition chooses along the first axis.
void map_old_select(Call& call) {
  auto& onnx = call.onnx;
  Val condition = call.tensor("condition");
  const Val x = call.tensor("t"), y = call.tensor("e");
  const std::size_t rank = call.rank(x);
  if (call.rank(condition) == 1 && rank > 1) {
    std::vector<std::int64_t> axes;
    for (std::size_t axis = 1; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
    condition = onnx.unsqueeze(condition, axes);
  }
  call.result(onnx.emit("Where", {condition, x, y}));
}

void map_clip_by_value(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("t"), low = call.tensor("clip_value_min"), high = call.tensor("clip_value_max");
  call.result(onnx.emit("Min", {onnx.emit("Max", {x, low}), high}));
}

/// Of complex numbers the real part; real ones have an imaginary part of zeros.
void map_cast(Call& call) {
  auto& onnx = call.onnx;
  const foreign::Complex x = call.complex("x");
  const ElementType to = call.elem("DstT"), part = foreign::part_type_of(to);
  if (to == ElementType::undefined) return call.refuse("ONNX has no such element type");
  if (to == part) return call.result(onnx.cast(x.real, to));
  const foreign::Complex both = with_both_parts(onnx, x);
  call.result(foreign::Complex{onnx.cast(both.real, part), onnx.cast(both.imaginary, part)});
}

}  // namespace

void register_elementwise(Mappings& mappings);
void register_elementwise(Mappings& mappings) {
  for (const SameOperator& same : unary_operators) mappings.add(same.op, {"x"}, map_unary);
  for (const SameOperator& same : binary_operators) mappings.add(same.op, {"x", "y"}, map_binary);
  mappings.add("Rsqrt", {"x"}, map_rsqrt);
  mappings.add("Square", {"x"}, map_square);
  mappings.add("Expm1", {"x"}, map_expm1);
  mappings.add("Log1p", {"x"}, map_log1p);
  mappings.add("Erfc", {"x"}, map_erfc);
  mappings.add("IsFinite", {"x"}, map_is_finite);
  mappings.add("Cast", {"x"}, map_cast);
  mappings.add("SquaredDifference", {"x", "y"}, map_squared_difference);
  mappings.add("NotEqual", {"x", "y"}, map_not_equal);
  mappings.add("ApproximateEqual", {"x", "y"}, map_approximate_equal);
  mappings.add("FloorMod", {"x", "y"}, map_floor_mod);
  mappings.add_all({"TruncateMod", "Mod"}, {"x", "y"}, map_truncate_mod);
  mappings.add("FloorDiv", {"x", "y"}, map_floor_div);
  mappings.add("DivNoNan", {"x", "y"}, map_div_no_nan);
  mappings.add("MulNoNan", {"x", "y"}, map_mul_no_nan);
  mappings.add("Xdivy", {"x", "y"}, map_xdivy);
  mappings.add("Xlogy", {"x", "y"}, map_xlogy);
  mappings.add("Atan2", {"y", "x"}, map_atan2);
  mappings.add_all({"LeftShift", "RightShift"}, {"x", "y"}, map_shift);
  mappings.add("AddN", {"inputs..."}, map_add_n);
  mappings.add_all({"BiasAdd", "BiasAddV1"}, {"value", "bias"}, map_bias_add);
  mappings.add("SelectV2", {"condition", "t", "e"}, map_select);
  mappings.add("Select", {"condition", "t", "e"}, map_old_select);
  mappings.add("ClipByValue", {"t", "clip_value_min", "clip_value_max"}, map_clip_by_value);
}

}  // namespace onnxkit::saved_model
