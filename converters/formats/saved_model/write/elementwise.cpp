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
bool is_unsigned(ElementType elem) {
  return elem == ElementType::uint8 || elem == ElementType::uint16 || elem == ElementType::uint32 ||
         elem == ElementType::uint64;
}

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

void map_mul(WriteCall& call) {
  const ValueId a = operand(call, 0), b = operand(call, 1);
  give(call, binary(call, "Mul", a, b));
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
  writers.add("Mul", map_mul);
  writers.add("Div", map_div);
  writers.add("Mod", map_mod);
  writers.add("Pow", map_pow);
  writers.add("Cast", map_cast);
  writers.add("IsNaN", map_is_nan);
  writers.add("IsInf", map_is_inf);
  writers.add("BitShift", map_bit_shift);
  writers.add("Dropout", map_dropout);
}

}  // namespace onnxkit::to_tensorflow
