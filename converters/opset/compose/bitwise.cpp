#include "converters/opset/compose/bitwise.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/element_types.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::opset {
namespace {

void finish_with(Step& step, ValueId result) {
  step.emit("Identity", {result}, {step.output(0)});
  step.replace();
}

ValueId unsigned_numbers(Step& step, ElementType type, const std::vector<std::uint64_t>& values,
                         std::string_view hint) {
  std::string bytes(values.size() * static_cast<std::size_t>(storage_bits(type)) / 8, '\0');
  encode(type, values, std::as_writable_bytes(std::span(bytes)));
  ir::Tensor tensor;
  tensor.dims = {static_cast<std::int64_t>(values.size())};
  tensor.data_type = static_cast<std::int32_t>(type);
  tensor.raw_data = step.keep(bytes);
  return step.constant_node(std::move(tensor), hint);
}

ElementType unsigned_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return ElementType::uint8;
    case ElementType::int16:
      return ElementType::uint16;
    case ElementType::int32:
      return ElementType::uint32;
    case ElementType::int64:
      return ElementType::uint64;
    default:
      return type;
  }
}

/// 1, 2, 4 ... as many as the type has bits.
std::vector<std::uint64_t> powers_of_two(int bits) {
  std::vector<std::uint64_t> powers;
  for (int i = 0; i < bits; ++i) powers.push_back(std::uint64_t{1} << i);
  return powers;
}

/// Binary digits along a new last axis, as uint64.
ValueId digits(Step& step, ValueId x, int bits, ValueId two) {
  std::vector<std::uint64_t> shifts;
  for (int i = 0; i < bits; ++i) shifts.push_back(static_cast<std::uint64_t>(i));
  const ValueId column = unsqueeze(step, cast(step, x, ElementType::uint64, "wide"), {-1}, "column");
  const ValueId shifted = step.add("BitShift", {column, unsigned_numbers(step, ElementType::uint64, shifts, "places")},
                                   {{"direction", std::string("RIGHT")}}, "shifted");
  return step.add("Mod", {shifted, two}, {}, "digits");
}

}  // namespace

void write_by_digits(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  const int bits = storage_bits(type);
  const ValueId two = step.number(ElementType::uint64, 2, "two");
  const ValueId a = digits(step, step.input(0), bits, two), b = digits(step, step.input(1), bits, two);
  const std::string_view op = step.node().op_type;
  ValueId combined = ValueId::none;
  if (op == "BitwiseAnd") {
    combined = step.add("Mul", {a, b}, {}, "both");
  } else {
    const ValueId sum = step.add("Add", {a, b}, {}, "sum");
    combined = op == "BitwiseXor" ? step.add("Mod", {sum, two}, {}, "one_of")
                                  : step.add("Sub", {sum, step.add("Mul", {a, b}, {}, "both")}, {}, "either");
  }
  const ValueId powers = unsigned_numbers(step, ElementType::uint64, powers_of_two(bits), "powers");
  const ValueId whole = reduce(step, "ReduceSum", step.add("Mul", {combined, powers}, {}, "parts"), {-1}, false);
  cast_into(step, whole, type, step.output(0));
  step.replace();
}

void shift_within_width(Step& step) {
  const ValueId x = step.input(0), by = step.input(1);
  const ElementType type = step.need_elem(x);
  const int bits = storage_bits(type);
  const ElementType natural = unsigned_of(type);
  const bool is_signed = natural != type;
  if (const auto known = step.constant_integers(by); known && !is_signed) {
    if (std::all_of(known->begin(), known->end(), [bits](std::int64_t n) { return n >= 0 && n < bits; })) return;
  }
  const bool left = step.string("direction") == "LEFT";
  const ValueId zero = step.number(type, 0, "zero");
  ValueId is_within = step.add("Less", {by, step.number(type, bits, "width")}, {}, "is_within");
  if (is_signed) {
    const ValueId is_negative = step.add("Less", {by, zero}, {}, "is_negative");
    is_within = step.add("And", {is_within, step.add("Not", {is_negative}, {}, "is_forward")}, {}, "is_within");
  }
  const ValueId amount = cast(step, step.add("Where", {is_within, by, zero}, {}, "amount"), natural, "amount");
  // What has a sign is shifted to the right as its complement, which has none.
  const bool keeps_sign = is_signed && !left;
  const ValueId is_below = keeps_sign ? step.add("Less", {x, zero}, {}, "is_below") : ValueId::none;
  const auto complemented = [&](ValueId value) {
    if (!keeps_sign) return value;
    return step.add("Where", {is_below, step.add("BitwiseNot", {value}, {}, "complement"), value}, {}, "magnitude");
  };
  const ValueId natural_x = is_signed ? cast(step, complemented(x), natural, "natural") : x;
  const ValueId moved =
      step.add("BitShift", {natural_x, amount}, {{"direction", std::string(left ? "LEFT" : "RIGHT")}}, "moved");
  const ValueId back = is_signed ? complemented(cast(step, moved, type, "back")) : moved;
  const ValueId beyond =
      keeps_sign ? step.add("Where", {is_below, step.number(type, -1, "minus_one"), zero}, {}, "beyond") : zero;
  finish_with(step, step.add("Where", {is_within, back, beyond}, {}, "shifted"));
}

void shift_by_powers(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  const int bits = storage_bits(type);
  const ElementType computed = bits < 32 ? ElementType::uint32 : type;
  const bool left = step.string("direction") == "LEFT";
  const ValueId by = step.input(1);
  const ValueId x = computed == type ? step.input(0) : cast(step, step.input(0), computed, "wide");
  const ValueId zero = step.number(computed, 0, "zero");
  const ValueId is_within = step.add("Less", {by, step.number(type, bits, "width")}, {}, "is_within");
  const ValueId amount = step.add("Where", {is_within, by, step.number(type, 0, "none")}, {}, "amount");
  const ValueId powers = unsigned_numbers(step, computed, powers_of_two(bits), "powers");
  const ValueId power = step.add("Gather", {powers, cast(step, amount, ElementType::int64, "index")}, {}, "power");
  const ValueId moved = step.add(left ? "Mul" : "Div", {x, power}, {}, "moved");
  const ValueId shifted = step.add("Where", {is_within, moved, zero}, {}, "shifted");
  if (computed == type) return finish_with(step, shifted);
  cast_into(step, shifted, type, step.output(0));
  step.replace();
}

/// Long division in float64. Both numbers have at most 24 bits; a digit of the quotient has 24, so quotient, product and rest are exact.
void remainder_of_reals(Step& step, ElementType type) {
  constexpr ElementType wide = ElementType::float64;
  constexpr int digits = 12, bits_of_digit = 24;  // a float32 is at most 2^277 times another
  constexpr double beyond = 0x1p200;              // any float32
  if (type == wide) refuse("older opsets cannot express the remainder of float64 numbers without rounding");
  const ValueId zero = step.number(wide, 0, "zero");
  const ValueId a = cast(step, step.input(0), wide, "dividend");
  const ValueId size = step.add("Abs", {cast(step, step.input(1), wide, "divisor")}, {}, "size");
  const ValueId most = step.number(wide, beyond, "most");
  const ValueId b =
      step.add("Where", {step.add("Greater", {size, most}, {}, "is_infinite"), most, size}, {}, "divisor");
  ValueId rest = step.add("Abs", {a}, {}, "rest");
  for (int digit = digits - 1; digit >= 0; --digit) {
    const double power = std::ldexp(1.0, digit * bits_of_digit);
    const ValueId multiple = step.add("Mul", {b, step.number(wide, power, "power")}, {}, "multiple");
    const ValueId count = step.add("Floor", {step.add("Div", {rest, multiple}, {}, "quotient")}, {}, "count");
    rest = step.add("Sub", {rest, step.add("Mul", {count, multiple}, {}, "taken")}, {}, "rest");
  }
  const ValueId is_below = step.add("Less", {a, zero}, {}, "is_below");
  const ValueId signed_rest =
      step.add("Where", {is_below, step.add("Neg", {rest}, {}, "negated"), rest}, {}, "signed_rest");
  cast_into(step, signed_rest, type, step.output(0));
  step.replace();
  step.note("rewritten as a long division in float64");
}

void write_remainder(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  if (is_floating(type)) return remainder_of_reals(step, type);
  const ElementType computed = storage_bits(type) < 32 ? ElementType::int32 : type;
  const auto wide = [&](ValueId value) { return computed == type ? value : cast(step, value, computed, "wide"); };
  const ValueId b = wide(step.input(1));
  // The remainder of a division by 0 is 0 (docs/semantics.md).
  const ValueId counts = cast(step, cast(step, b, ElementType::boolean, "counts"), computed, "counts");
  const ValueId a = step.add("Mul", {wide(step.input(0)), counts}, {}, "dividend");
  const ValueId quotient = step.add("Div", {a, b}, {}, "quotient");
  ValueId rest = step.add("Sub", {a, step.add("Mul", {quotient, b}, {}, "multiple")}, {}, "rest");
  const bool has_sign = unsigned_of(computed) != computed;
  if (has_sign && step.integer("fmod") == 0) {
    const ValueId zero = step.number(computed, 0, "zero");
    const ValueId signs_differ =
        step.add("Xor", {step.add("Less", {rest, zero}, {}, "rest_sign"), step.add("Less", {b, zero}, {}, "sign")}, {},
                 "signs_differ");
    const ValueId is_nonzero = step.add("Not", {step.add("Equal", {rest, zero}, {}, "is_zero")}, {}, "is_nonzero");
    const ValueId is_off = step.add("And", {signs_differ, is_nonzero}, {}, "is_off");
    rest = step.add("Where", {is_off, step.add("Add", {rest, b}, {}, "moved"), rest}, {}, "remainder");
  }
  if (computed == type) return finish_with(step, rest);
  cast_into(step, rest, type, step.output(0));
  step.replace();
}

void remainder_by_fmod(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  if (!is_floating(type) || step.integer("fmod") != 0) return;
  const ValueId b = step.input(1);
  const ValueId zero = step.number(type, 0, "zero");
  const ValueId rest = step.add("Mod", {step.input(0), b}, {{"fmod", std::int64_t{1}}}, "rest");
  const ValueId is_below = step.add("Less", {b, zero}, {}, "is_below");
  const ValueId signs_differ =
      step.add("Xor", {step.add("Less", {rest, zero}, {}, "rest_is_below"), is_below}, {}, "signs_differ");
  const ValueId moved = step.add("Where", {signs_differ, step.add("Add", {rest, b}, {}, "moved"), rest}, {}, "of_sign");
  const ValueId signed_zero =
      step.add("Where", {is_below, step.number(type, -0.0, "minus_zero"), zero}, {}, "signed_zero");
  const ValueId is_zero = step.add("Equal", {rest, zero}, {}, "is_zero");
  finish_with(step, step.add("Where", {is_zero, signed_zero, moved}, {}, "remainder"));
}

}  // namespace onnxkit::opset
