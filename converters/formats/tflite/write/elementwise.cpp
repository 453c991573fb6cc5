// Operators on elements, with broadcasting.
#include <limits>

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

void map_cast(WriteCall& call) {
  const ElementType to = call.output_type().elem;
  if (to == ElementType::undefined || to == ElementType::string || call.elem(0) == ElementType::string)
    return call.refuse("TensorFlow Lite does not convert text");
  if (to == ElementType::float32 && call.elem(0) == ElementType::float16 && call.stored(0))
    return call.result(widened(call, call.input(0)));
  if (to == ElementType::boolean && call.elem(0) != to) {
    const ValueId x = operand(call, 0);
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

void map_dropout(WriteCall& call) {
  const auto trains = call.has(2) ? call.known_integers(2) : Ints{0};
  if (!trains || trains->size() != 1 || trains->front() != 0) return call.refuse("it drops elements at random");
  if (!call.has_output(1)) return call.result(call.input(0));
  if (!call.shape(0)) return call.refuse("the rank of its input is not known");
  const ValueId sizes = sizes_vector(call, *call.shape(0));
  const ValueId mask =
      fill(call, sizes, call.scalar(ElementType::boolean, 1), with_elem(call.type(0), ElementType::boolean));
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
      gather(call, call.integers_tensor(within, powers), places, 0, with_elem(call.type_of(places), within));
  give(call, binary(call, is_left ? "MUL" : "FLOOR_DIV", x, factor));
}

}  // namespace

void register_elementwise(Writers& writers);
void register_elementwise(Writers& writers) {
  for (const Counterpart& names : unary_names) writers.add(names.first, map_unary_elementwise);
  writers.add("Div", map_div);
  writers.add("Mod", map_mod);
  writers.add("Pow", map_pow);
  writers.add("Cast", map_cast);
  writers.add("IsNaN", map_is_nan);
  writers.add("IsInf", map_is_inf);
  writers.add("Dropout", map_dropout);
  writers.add("BitShift", map_bit_shift);
}

}  // namespace onnxkit::to_tflite
