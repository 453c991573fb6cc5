// Operators on elements, with broadcasting.
#include <limits>

#include "converters/formats/saved_model/emit.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tensorflow {
namespace {

using foreign::counterpart;
using Names = foreign::Counterpart;

constexpr Names unary_names[] = {
    {"Abs", "Abs"},     {"Neg", "Neg"},   {"Sqrt", "Sqrt"},   {"Exp", "Exp"},         {"Log", "Log"},
    {"Floor", "Floor"}, {"Ceil", "Ceil"}, {"Round", "Round"}, {"Sign", "Sign"},       {"Sin", "Sin"},
    {"Cos", "Cos"},     {"Tan", "Tan"},   {"Asin", "Asin"},   {"Acos", "Acos"},       {"Atan", "Atan"},
    {"Sinh", "Sinh"},   {"Cosh", "Cosh"}, {"Asinh", "Asinh"}, {"Acosh", "Acosh"},     {"Atanh", "Atanh"},
    {"Erf", "Erf"},     {"Relu", "Relu"}, {"Tanh", "Tanh"},   {"Sigmoid", "Sigmoid"},
};
constexpr Names binary_names[] = {{"Add", "AddV2"}, {"Sub", "Sub"}, {"Mul", "Mul"}};
constexpr Names comparison_names[] = {
    {"Equal", "Equal"},
    {"Less", "Less"},
    {"LessOrEqual", "LessEqual"},
    {"Greater", "Greater"},
    {"GreaterOrEqual", "GreaterEqual"},
};

bool is_unsigned(ElementType elem) {
  return elem == ElementType::uint8 || elem == ElementType::uint16 || elem == ElementType::uint32 ||
         elem == ElementType::uint64;
}

/// Integers in a type that all kernels have. Results are cast back, where they wrap as those of the narrow type do.
ValueId operand(WriteCall& call, std::size_t input) {
  const ElementType elem = call.elem(input);
  if (!is_integer(elem) || elem == ElementType::int32 || elem == ElementType::int64) return call.input(input);
  return cast(call, call.input(input), storage_bits(elem) < 32 ? ElementType::int32 : ElementType::int64);
}

/// In the type of the node's result.
void give(WriteCall& call, ValueId value) { call.result(cast(call, value, call.output_type().elem)); }

void map_unary_elementwise(WriteCall& call) {
  const std::string_view op = counterpart(unary_names, call.node);
  const bool keeps_integers = op == "Floor" || op == "Ceil" || op == "Round";
  const bool keeps_unsigned = op == "Abs" || op == "Relu";
  if ((is_integer(call.elem(0)) && keeps_integers) || (is_unsigned(call.elem(0)) && keeps_unsigned))
    return call.result(call.input(0));
  const ValueId x = operand(call, 0);
  if (op == "Relu" && is_integer(call.elem(0))) return give(call, binary(call, "Maximum", x, 0.0));
  give(call, unary(call, op, x));
}

void map_binary_elementwise(WriteCall& call) {
  const ValueId a = operand(call, 0), b = operand(call, 1);
  give(call, binary(call, counterpart(binary_names, call.node), a, b));
}

/// Of unsigned integers of 64 bits the kernel compares as signed ones; the others fit int64.
void map_comparison(WriteCall& call) {
  const bool is_whole = call.elem(0) == ElementType::uint64;
  const auto side = [&](std::size_t i) { return is_whole ? call.input(i) : operand(call, i); };
  const ValueId a = side(0), b = side(1);
  call.result(compare(call, counterpart(comparison_names, call.node), a, b));
}

void map_logic(WriteCall& call) {
  const std::string_view op = call.node.op_type.view();
  const std::string_view name = op == "And" ? "LogicalAnd" : op == "Or" ? "LogicalOr" : "NotEqual";
  const ValueId a = call.input(0), b = call.input(1);
  call.result(compare(call, name, a, b));
}

void map_not(WriteCall& call) { call.result(unary(call, "LogicalNot", call.input(0))); }

void map_reciprocal(WriteCall& call) {
  // 1 / sqrt(x) has an operator of its own.
  if (const auto root = call.producer(0); root && root->node.op_type == "Sqrt")
    return call.result(unary(call, "Rsqrt", WriteCall(*root).input(0)));
  call.result(unary(call, "Reciprocal", call.input(0)));
}

/// Integers are divided towards zero.
void map_div(WriteCall& call) {
  const ValueId a = operand(call, 0), b = operand(call, 1);
  give(call, binary(call, is_integer(call.elem(0)) ? "TruncateDiv" : "RealDiv", a, b));
}

void map_mod(WriteCall& call) {
  const bool truncates = call.integer("fmod", 0) != 0;
  const ElementType elem = call.elem(0);
  const bool is_narrow = elem == ElementType::float16 || elem == ElementType::bfloat16;
  const auto side = [&](std::size_t i) {
    return is_narrow ? cast(call, call.input(i), ElementType::float32) : operand(call, i);
  };
  give(call, binary(call, truncates ? "TruncateMod" : "FloorMod", side(0), side(1)));
}

/// Squares and roots have operators of their own. The result has the type of the base.
void map_pow(WriteCall& call) {
  ValueId base = operand(call, 0);
  const ElementType elem = call.elem(0);
  const auto exponent = call.known_real(1);
  if (exponent == 2) return give(call, unary(call, "Square", base));
  if (exponent == 1) return give(call, base);
  if (exponent == 0.5 && !is_integer(elem)) return give(call, unary(call, "Sqrt", base));
  if (is_integer(elem) && !is_integer(call.elem(1))) base = cast(call, base, ElementType::float64);
  give(call, binary(call, "Pow", base, cast(call, call.input(1), call.type_of(base).elem)));
}

void fold(WriteCall& call, std::string_view op) {
  ValueId result = operand(call, 0);
  for (std::size_t i = 1; i < call.node.inputs.size(); ++i) result = binary(call, op, result, operand(call, i));
  give(call, result);
}
void map_sum(WriteCall& call) { fold(call, "AddV2"); }
void extreme(WriteCall& call, std::string_view op) {
  if (call.elem(0) == ElementType::uint64 && call.node.inputs.size() > 1)
    return call.refuse("its kernel does not compare uint64");
  fold(call, op);
}
void map_max(WriteCall& call) { extreme(call, "Maximum"); }
void map_min(WriteCall& call) { extreme(call, "Minimum"); }

void map_mean(WriteCall& call) {
  ValueId sum = call.input(0);
  for (std::size_t i = 1; i < call.node.inputs.size(); ++i) sum = binary(call, "AddV2", sum, call.input(i));
  call.result(binary(call, "RealDiv", sum, static_cast<double>(call.node.inputs.size())));
}

void map_where(WriteCall& call) {
  const ValueId condition = call.input(0), then = call.input(1), otherwise = call.input(2);
  call.result(select(call, condition, then, otherwise));
}

void map_clip(WriteCall& call) {
  const auto least = call.has(1) ? call.known_real(1) : std::nullopt;
  const auto greatest = call.has(2) ? call.known_real(2) : std::nullopt;
  ValueId x = operand(call, 0);
  const ElementType elem = call.type_of(x).elem;
  const bool is_open = !call.has(2) || (greatest && *greatest >= std::numeric_limits<float>::max());
  if (elem == ElementType::float32 && least == 0 && is_open) return call.result(unary(call, "Relu", x));
  if (elem == ElementType::float32 && least == 0 && greatest == 6) return call.result(unary(call, "Relu6", x));
  if (call.elem(0) == ElementType::uint64) return call.refuse("its kernel does not compare uint64");
  if (call.has(1)) x = binary(call, "Maximum", x, cast(call, call.input(1), elem));
  if (call.has(2)) x = binary(call, "Minimum", x, cast(call, call.input(2), elem));
  give(call, x);
}

void map_cast(WriteCall& call) {
  const ElementType to = call.output_type().elem, from = call.elem(0);
  if (to == ElementType::undefined || to == ElementType::string || from == ElementType::string)
    return call.refuse("text that stands for numbers is written in other ways there");
  const ValueId x = call.input(0);
  if (to == ElementType::boolean && from != to) return call.result(compare(call, "NotEqual", x, call.scalar(from, 0)));
  call.result(cast(call, x, to));
}

void map_is_nan(WriteCall& call) {
  call.result(call.emit("IsNan", {{"x", call.input(0)}}, with_elem(call.type(0), ElementType::boolean)));
}

void map_is_inf(WriteCall& call) {
  const double infinity = std::numeric_limits<double>::infinity();
  const bool positive = call.integer("detect_positive", 1) != 0, negative = call.integer("detect_negative", 1) != 0;
  const ValueId x = call.input(0);
  if (positive && negative)
    return call.result(call.emit("IsInf", {{"x", x}}, with_elem(call.type(0), ElementType::boolean)));
  if (!positive && !negative) return call.result(compare(call, "Less", x, x));
  call.result(compare(call, "Equal", x, call.scalar(call.elem(0), positive ? infinity : -infinity)));
}

void map_bit_shift(WriteCall& call) {
  const std::string_view op = call.text("direction") == "LEFT" ? "LeftShift" : "RightShift";
  const ValueId a = call.input(0), b = call.input(1);
  call.result(binary(call, op, a, b));
}

void map_identity(WriteCall& call) { call.result(call.input(0)); }

void map_dropout(WriteCall& call) {
  const auto trains = call.has(2) ? call.known_integers(2) : Ints{0};
  if (!trains || trains->size() != 1 || trains->front() != 0) return call.refuse("it drops elements at random");
  if (call.has_output(1)) return call.refuse("it also gives its mask");
  call.result(call.input(0));
}

}  // namespace

void register_elementwise(Writers& writers);
void register_elementwise(Writers& writers) {
  for (const Names& names : unary_names) writers.add(names.first, map_unary_elementwise);
  for (const Names& names : binary_names) writers.add(names.first, map_binary_elementwise);
  for (const Names& names : comparison_names) writers.add(names.first, map_comparison);
  writers.add({"And", "Or", "Xor"}, map_logic);
  writers.add("Not", map_not);
  writers.add("Reciprocal", map_reciprocal);
  writers.add("Div", map_div);
  writers.add("Mod", map_mod);
  writers.add("Pow", map_pow);
  writers.add("Sum", map_sum);
  writers.add("Max", map_max);
  writers.add("Min", map_min);
  writers.add("Mean", map_mean);
  writers.add("Where", map_where);
  writers.add("Clip", map_clip);
  writers.add("Cast", map_cast);
  writers.add("IsNaN", map_is_nan);
  writers.add("IsInf", map_is_inf);
  writers.add("BitShift", map_bit_shift);
  writers.add("Identity", map_identity);
  writers.add("Dropout", map_dropout);
}

}  // namespace onnxkit::to_tensorflow
