// Operators on elements, with broadcasting.
#include <algorithm>
#include <limits>
#include <utility>

#include "converters/formats/tflite/emit.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tflite {
namespace {

using foreign::Counterpart;

constexpr Counterpart unary_names[] = {
    {"Abs", "ABS"},     {"Neg", "NEG"},   {"Sqrt", "SQRT"},   {"Exp", "EXP"},          {"Log", "LOG"},
    {"Floor", "FLOOR"}, {"Ceil", "CEIL"}, {"Round", "ROUND"}, {"Sign", "SIGN"},        {"Sin", "SIN"},
    {"Cos", "COS"},     {"Relu", "RELU"}, {"Tanh", "TANH"},   {"Sigmoid", "LOGISTIC"},
};
constexpr Counterpart binary_names[] = {{"Add", "ADD"}, {"Sub", "SUB"}};
constexpr Counterpart comparison_names[] = {
    {"Equal", "EQUAL"},
    {"Less", "LESS"},
    {"LessOrEqual", "LESS_EQUAL"},
    {"Greater", "GREATER"},
    {"GreaterOrEqual", "GREATER_EQUAL"},
};

/// Integers that kernels compute with as they are; narrower ones are taken for quantized numbers.
bool is_native(ElementType elem) {
  return !is_integer(elem) || elem == ElementType::int32 || elem == ElementType::int64;
}

/// An input in a type that kernels compute with.
ValueId operand(WriteCall& call, std::size_t input) {
  if (is_native(call.elem(input))) return call.input(input);
  const bool is_wide = storage_bits(call.elem(input)) >= 32;
  return cast(call, call.input(input), is_wide ? ElementType::int64 : ElementType::int32);
}

/// In the type of the node's result, whose integers wrap.
void give(WriteCall& call, ValueId value) { call.result(cast(call, value, call.output_type().elem)); }

void map_unary_elementwise(WriteCall& call) {
  const std::string_view op = foreign::counterpart(unary_names, call.node);
  const bool rounds = op == "FLOOR" || op == "CEIL" || op == "ROUND";
  if (is_integer(call.elem(0)) && rounds) return call.result(call.input(0));
  const ValueId x = operand(call, 0);
  const ElementType elem = call.type_of(x).elem;
  if (is_integer(elem) && op == "ABS") return give(call, binary(call, "MAXIMUM", x, unary(call, "NEG", x)));
  if (is_integer(elem) && op == "SIGN")
    return give(call, binary(call, "MINIMUM", binary(call, "MAXIMUM", x, -1.0), 1.0));
  if (is_integer(elem) && op == "RELU") return give(call, binary(call, "MAXIMUM", x, 0.0));
  give(call, unary(call, op, x));
}

void map_binary_elementwise(WriteCall& call) {
  const ValueId a = operand(call, 0), b = operand(call, 1);
  give(call, binary(call, foreign::counterpart(binary_names, call.node), a, b));
}

void map_comparison(WriteCall& call) {
  const ValueId a = operand(call, 0), b = operand(call, 1);
  call.result(compare(call, foreign::counterpart(comparison_names, call.node), a, b));
}

void map_logic(WriteCall& call) {
  const std::string_view op = call.node.op_type.view();
  const ValueId a = call.input(0), b = call.input(1);
  call.result(compare(call, op == "And" ? "LOGICAL_AND" : op == "Or" ? "LOGICAL_OR" : "NOT_EQUAL", a, b));
}

void map_not(WriteCall& call) { call.result(unary(call, "LOGICAL_NOT", call.input(0))); }

void map_reciprocal(WriteCall& call) {
  // 1 / sqrt(x) has an operator of its own.
  if (const auto root = call.producer(0); root && root->node.op_type == "Sqrt")
    return call.result(unary(call, "RSQRT", WriteCall(*root).input(0)));
  const ValueId one = call.scalar(call.elem(0), 1);
  call.result(binary(call, "DIV", one, call.input(0)));
}

/// Integers are divided towards zero.
void map_div(WriteCall& call) {
  if (call.elem(0) == ElementType::int64 || call.elem(0) == ElementType::uint32)
    return call.refuse("its kernel does not divide integers of 64 bits", "cast them to int32 before");
  const ValueId a = operand(call, 0), b = operand(call, 1);
  give(call, binary(call, "DIV", a, b));
}

/// The remainder of reals has the sign of x; that of the magnitudes needs no correction, so that of an infinite y is x.
void remainder_of_reals(WriteCall& call, ValueId x, ValueId y) {
  const ValueId size = unary(call, "ABS", x);
  const ValueId rest = binary(call, "FLOOR_MOD", size, unary(call, "ABS", y));
  const ValueId is_below = compare(call, "LESS", x, call.scalar(call.type_of(x).elem, 0));
  call.result(select(call, is_below, unary(call, "NEG", rest), rest));
}

void map_mod(WriteCall& call) {
  const ValueId x = operand(call, 0), y = operand(call, 1);
  if (call.integer("fmod", 0) != 0 && !is_integer(call.elem(0))) return remainder_of_reals(call, x, y);
  const ValueId floored = binary(call, "FLOOR_MOD", x, y);
  if (call.integer("fmod", 0) == 0) return give(call, floored);
  // With the sign of x: where the remainder is not 0 and has the other sign, y less.
  const ElementType elem = call.type_of(x).elem;
  const ValueId zero = call.scalar(elem, 0);
  const ValueId is_below = compare(call, "LESS", x, zero);
  const ValueId differs = compare(call, "NOT_EQUAL", is_below, compare(call, "LESS", floored, zero));
  const ValueId moves = compare(call, "LOGICAL_AND", differs, compare(call, "NOT_EQUAL", floored, zero));
  give(call, select(call, moves, binary(call, "SUB", floored, y), floored));
}

/// Squares and roots have operators of their own. The result has the type of the base.
void map_pow(WriteCall& call) {
  const ValueId base = operand(call, 0);
  const ElementType elem = call.type_of(base).elem;
  const auto exponent = call.known_real(1);
  if (exponent == 2 && !is_integer(elem)) return give(call, unary(call, "SQUARE", base));
  if (exponent == 2) return give(call, binary(call, "MUL", base, base));
  if (exponent == 1) return give(call, base);
  if (exponent == 0.5 && !is_integer(elem)) return give(call, unary(call, "SQRT", base));
  if (elem == ElementType::int64 || (is_integer(elem) && !is_integer(call.elem(1))))
    return call.refuse("its kernel has no powers of these types");
  give(call, binary(call, "POW", base, cast(call, call.input(1), elem)));
}

void fold(WriteCall& call, std::string_view op) {
  ValueId result = operand(call, 0);
  for (std::size_t i = 1; i < call.node.inputs.size(); ++i) result = binary(call, op, result, operand(call, i));
  give(call, result);
}
void map_sum(WriteCall& call) { fold(call, "ADD"); }
void map_max(WriteCall& call) { fold(call, "MAXIMUM"); }
void map_min(WriteCall& call) { fold(call, "MINIMUM"); }

void map_mean(WriteCall& call) {
  ValueId sum = call.input(0);
  for (std::size_t i = 1; i < call.node.inputs.size(); ++i) sum = binary(call, "ADD", sum, call.input(i));
  call.result(binary(call, "DIV", sum, static_cast<double>(call.node.inputs.size())));
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
  if (elem == ElementType::float32 && least == 0 && is_open) return call.result(unary(call, "RELU", x));
  if (elem == ElementType::float32 && least == 0 && greatest == 6) return call.result(unary(call, "RELU6", x));
  if (elem == ElementType::float32 && least == -1 && greatest == 1) return call.result(unary(call, "RELU_N1_TO_1", x));
  if (call.has(1)) x = binary(call, "MAXIMUM", x, cast(call, call.input(1), elem));
  if (call.has(2)) x = binary(call, "MINIMUM", x, cast(call, call.input(2), elem));
  give(call, x);
}

void map_cast(WriteCall& call) {
  const ElementType to = call.output_type().elem;
  if (to == ElementType::undefined || to == ElementType::string || call.elem(0) == ElementType::string)
    return call.refuse("TensorFlow Lite does not convert text");
  if (to == ElementType::float32 && call.elem(0) == ElementType::float16 && call.stored(0))
    return call.result(call.emit("DEQUANTIZE", {{"x", call.input(0)}}, call.output_type()));  // as weights are stored
  if (to == ElementType::boolean && call.elem(0) != to) {
    const ValueId x = is_native(call.elem(0)) ? call.input(0) : operand(call, 0);
    return call.result(compare(call, "NOT_EQUAL", x, call.scalar(call.type_of(x).elem, 0)));
  }
  call.result(cast(call, call.input(0), to));
}

void map_is_nan(WriteCall& call) { call.result(compare(call, "NOT_EQUAL", call.input(0), call.input(0))); }

void map_is_inf(WriteCall& call) {
  const double infinity = std::numeric_limits<double>::infinity();
  const bool positive = call.integer("detect_positive", 1) != 0, negative = call.integer("detect_negative", 1) != 0;
  if (!positive && !negative) return call.refuse("it looks for no infinity");
  const ValueId x = positive && negative ? unary(call, "ABS", call.input(0)) : call.input(0);
  call.result(compare(call, "EQUAL", x, call.scalar(call.elem(0), positive ? infinity : -infinity)));
}

void map_identity(WriteCall& call) { call.result(call.input(0)); }

void map_dropout(WriteCall& call) {
  const auto trains = call.has(2) ? call.known_integers(2) : Ints{0};
  if (!trains || trains->size() != 1 || trains->front() != 0) return call.refuse("it drops elements at random");
  if (!call.has_output(1)) return call.result(call.input(0));
  if (!call.shape(0)) return call.refuse("the rank of its input is not known");
  const ValueId mask =
      call.emit("FILL", {{"dims", sizes_vector(call, *call.shape(0))}, {"value", call.scalar(ElementType::boolean, 1)}},
                with_elem(call.type(0), ElementType::boolean));
  call.results({call.input(0), mask});
}

/// The bits of x moved by as many places as y says, by powers of 2; bits that leave x are gone.
void map_bit_shift(WriteCall& call) {
  const ElementType elem = call.elem(0);
  const bool is_left = call.text("direction") == "LEFT";
  if (storage_bits(elem) > 32 || (elem == ElementType::uint32 && !is_left))
    return call.refuse("its kernels do not shift integers of that width");
  const std::int64_t most = is_left ? 32 : 30;
  Ints powers;
  for (std::int64_t bit = 0; bit <= most; ++bit) powers.push_back(bit == 32 ? 0 : std::int64_t{1} << bit);
  if (elem != ElementType::uint32 && is_left) powers[31] = std::numeric_limits<std::int32_t>::min();
  const ValueId x = operand(call, 0);
  const ElementType within = call.type_of(x).elem;
  const ValueId places =
      binary(call, "MINIMUM", cast(call, operand(call, 1), ElementType::int32), static_cast<double>(most));
  const ValueId factor =
      call.emit("GATHER", {{"x", call.integers_tensor(within, powers)}, {"indices", places}, {"axis", std::int64_t{0}}},
                with_elem(call.type_of(places), within));
  give(call, binary(call, is_left ? "MUL" : "FLOOR_DIV", x, factor));
}

}  // namespace

void register_elementwise(Writers& writers);
void register_elementwise(Writers& writers) {
  for (const Counterpart& names : unary_names) writers.add(names.first, map_unary_elementwise);
  for (const Counterpart& names : binary_names) writers.add(names.first, map_binary_elementwise);
  for (const Counterpart& names : comparison_names) writers.add(names.first, map_comparison);
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
  writers.add("Identity", map_identity);
  writers.add("Dropout", map_dropout);
  writers.add("BitShift", map_bit_shift);
}

}  // namespace onnxkit::to_tflite
