// Whole numbers and the parts of real ones: shifts, divisors, exponents, signs.
#include <utility>

#include "converters/foreign/complex_numbers.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// The unsigned type of the same width, and the width; of types that are not shifted nothing.
std::pair<ElementType, double> unsigned_form(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8:
      return {ElementType::uint8, 8};
    case ElementType::int16:
      return {ElementType::uint16, 16};
    case ElementType::int32:
      return {ElementType::uint32, 32};
    case ElementType::int64:
      return {ElementType::uint64, 64};
    default:
      return {ElementType::undefined, 0};
  }
}

Val shifted(Call& call, Val bits, Val by, const std::string& direction) {
  const Val places = call.onnx.cast(by, call.onnx.elem(bits));
  return call.onnx.emit("BitShift", {bits, places}, {{"direction", direction}});
}

/// Nothing is left of a number that is shifted by as many bits as it has, or by fewer than none.
void map_left_shift(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call);
  const auto [bits, width] = unsigned_form(x.type);
  if (bits == ElementType::undefined) return call.refuse("a shift of numbers that are not integers");
  const Val zero = onnx.scalar(x.type, 0);
  const Val is_out =
      onnx.emit("Or", {onnx.emit("Less", {x.b, zero}), onnx.emit("GreaterOrEqual", {x.b, onnx.scalar(x.type, width)})});
  const Val by = onnx.emit("Where", {is_out, zero, x.b});
  const Val moved = onnx.cast(shifted(call, onnx.cast(x.a, bits), by, "LEFT"), x.type);
  call.result(as_declared(call, onnx.emit("Where", {is_out, zero, moved})));
}

/// The sign comes in from the left: of a negative number the complement is shifted. Too far a shift leaves the sign alone.
void map_right_shift(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call);
  const auto [bits, width] = unsigned_form(x.type);
  if (bits == ElementType::undefined) return call.refuse("a shift of numbers that are not integers");
  const bool has_sign = x.type != ElementType::uint8;
  const Val zero = onnx.scalar(x.type, 0), last = onnx.scalar(x.type, width - 1);
  const Val is_out = onnx.emit("Or", {onnx.emit("Less", {x.b, zero}), onnx.emit("Greater", {x.b, last})});
  const Val by = onnx.emit("Where", {is_out, last, x.b});
  if (!has_sign) {
    const Val moved = shifted(call, x.a, by, "RIGHT");
    return call.result(as_declared(call, onnx.emit("Where", {is_out, zero, moved})));
  }
  const Val is_negative = onnx.emit("Less", {x.a, zero});
  const auto complement = [&](Val value) {
    return onnx.emit("Where", {is_negative, onnx.emit("BitwiseNot", {value}), value});
  };
  const Val moved = shifted(call, onnx.cast(complement(x.a), bits), by, "RIGHT");
  call.result(as_declared(call, complement(onnx.cast(moved, x.type))));
}

/// One round of Euclid's algorithm: whether anything is left, the divisor and the rest.
std::vector<Val> euclid_round(Call& call, Val divisor, Val rest) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(divisor);
  const Val zero = onnx.scalar(type, 0), one = onnx.scalar(type, 1);
  const Val is_done = onnx.emit("Equal", {rest, zero});
  const Val by = onnx.emit("Where", {is_done, one, rest});
  const Val next = onnx.emit("Where", {is_done, zero, onnx.emit("Mod", {divisor, by})});
  const Val is_left = onnx.cast(onnx.emit("Not", {onnx.emit("Equal", {next, zero})}), ElementType::int32);
  const Val goes_on = onnx.emit("ReduceMax", {is_left}, {{"keepdims", std::int64_t{0}}});
  return {onnx.cast(goes_on, ElementType::boolean), onnx.emit("Where", {is_done, divisor, rest}), next};
}

/// Element by element, until nothing is left of any.
Val common_divisor(Call& call, Val a, Val b) {
  auto& onnx = call.onnx;
  constexpr std::int64_t most_rounds = 128;
  const Val wide_a = onnx.emit("Add", {a, onnx.emit("Sub", {b, b})}),
            wide_b = onnx.emit("Add", {b, onnx.emit("Sub", {a, a})});
  const checker::Type carried = onnx.type(wide_a);
  const std::vector<Val> inside =
      onnx.open_body("divisor", std::vector<foreign::OnnxBuilder::BodyInput>{
                                    {"round", checker::Type::tensor(ElementType::int64, foreign::Shape{})},
                                    {"goes_on", checker::Type::tensor(ElementType::boolean, foreign::Shape{})},
                                    {"divisor", carried},
                                    {"rest", carried}});
  std::vector<foreign::OnnxBuilder::Body> bodies;
  bodies.emplace_back("body", onnx.close_body(euclid_round(call, inside[2], inside[3])));
  const Val rounds = onnx.scalar_integer(ElementType::int64, most_rounds), first = onnx.scalar(ElementType::boolean, 1);
  return onnx.emit_with_bodies(2, "Loop", {rounds, first, wide_a, wide_b}, std::move(bodies)).front();
}

/// The largest number that divides both, or the smallest that both divide; of zeros it is zero.
template <bool is_multiple>
void map_divisor(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call);
  if (is_floating(x.type) || x.type == ElementType::boolean)
    return call.refuse("a divisor of numbers that are not integers");
  const Val a = onnx.emit("Abs", {x.a}), b = onnx.emit("Abs", {x.b});
  const Val divisor = common_divisor(call, a, b);
  if (!is_multiple) return call.result(as_declared(call, divisor));
  const Val by = onnx.emit("Max", {divisor, onnx.scalar(x.type, 1)});
  call.result(as_declared(call, onnx.emit("Abs", {onnx.emit("Mul", {onnx.emit("Div", {a, by}), b})})));
}

/// Powers of two in two halves, as the whole may be out of range.
Val scaled_down(Call& call, Val x, Val exponent) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(x);
  const Val half = onnx.emit("Floor", {onnx.emit("Mul", {exponent, onnx.scalar(type, 0.5)})});
  const Val two = onnx.scalar(type, 2);
  const Val once = onnx.emit("Div", {x, onnx.emit("Pow", {two, half})});
  return onnx.emit("Div", {once, onnx.emit("Pow", {two, onnx.emit("Sub", {exponent, half})})});
}

/// A fraction from 1/2 to 1 and a power of two. The logarithm may be one off next to such powers.
void map_fraction_and_exponent(Call& call) {
  auto& onnx = call.onnx;
  const Val given = call.tensor("self");
  const ElementType type = onnx.elem(given);
  if (!is_floating(type)) return call.refuse("an exponent of an integer");
  const ElementType wide = type == ElementType::float64 ? type : ElementType::float32;
  const Val x = onnx.cast(given, wide), size = onnx.emit("Abs", {x});
  const Val zero = onnx.scalar(wide, 0), one = onnx.scalar(wide, 1);
  const Val is_plain = onnx.emit(
      "Or", {onnx.emit("Equal", {x, zero}), onnx.emit("Or", {onnx.emit("IsInf", {x}), onnx.emit("IsNaN", {x})})});
  const Val logarithm = onnx.emit(
      "Mul", {onnx.emit("Log", {onnx.emit("Where", {is_plain, one, size})}), onnx.scalar(wide, 1.4426950408889634)});
  const Val guess = onnx.emit("Add", {onnx.emit("Floor", {logarithm}), one});
  const Val fraction = onnx.emit("Abs", {scaled_down(call, x, guess)});
  const Val more = onnx.cast(onnx.emit("GreaterOrEqual", {fraction, one}), wide);
  const Val less = onnx.cast(onnx.emit("Less", {fraction, onnx.scalar(wide, 0.5)}), wide);
  const Val exponent = onnx.emit("Where", {is_plain, zero, onnx.emit("Sub", {onnx.emit("Add", {guess, more}), less})});
  call.results({onnx.cast(scaled_down(call, x, exponent), type), onnx.cast(exponent, ElementType::int32)});
}

/// self 2^other of whole numbers in three factors, as the power alone may be out of range.
Val scaled_by_whole_power(Call& call, Val x, Val other) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(x);
  // Further powers make infinity or 0 of all numbers.
  const double most = type == ElementType::float64 ? 2200 : 300;
  const Val exponent = onnx.emit("Clip", {onnx.cast(other, type), onnx.scalar(type, -most), onnx.scalar(type, most)});
  const Val third = onnx.emit("Floor", {onnx.emit("Div", {exponent, onnx.scalar(type, 3)})});
  const Val rest = onnx.emit("Sub", {exponent, onnx.emit("Mul", {third, onnx.scalar(type, 2)})});
  const Val two = onnx.scalar(type, 2), factor = onnx.emit("Pow", {two, third});
  const Val scaled = onnx.emit("Mul", {onnx.emit("Mul", {x, factor}), factor});
  return onnx.emit("Mul", {scaled, onnx.emit("Pow", {two, rest})});
}

/// self 2^other; the power of an integer is a float32. PyTorch forms that of a real exponent alone.
void map_scale_by_power(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), other = call.tensor("other");
  const ElementType of_other = onnx.elem(other);
  const ElementType of_power = is_floating(of_other) ? of_other : ElementType::float32;
  ElementType type = call.declared_elem();
  if (type == ElementType::undefined) type = promoted(onnx.elem(x), of_power);
  if (is_floating(of_other)) {
    const Val power = onnx.emit("Pow", {onnx.scalar(of_other, 2), other});
    return call.result(onnx.emit("Mul", {onnx.cast(x, type), onnx.cast(power, type)}));
  }
  const ElementType wide = type == ElementType::float64 ? type : ElementType::float32;
  call.result(onnx.cast(scaled_by_whole_power(call, onnx.cast(x, wide), other), type));
}

/// In double, whatever the types are.
void map_double_power(Call& call) {
  constexpr ElementType type = ElementType::float64;
  call.result(call.onnx.emit("Pow", {call.number("self", type), call.number("exponent", type)}));
}

/// The sign of a negative zero shows in its reciprocal; that of what is no number cannot be told.
void map_sign_bit(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  if (type == ElementType::boolean) return call.result(onnx.emit("And", {x, onnx.scalar(type, 0)}));
  call.result(is_floating(type) ? foreign::is_negative(onnx, x) : onnx.emit("Less", {x, onnx.scalar(type, 0)}));
}

/// All real numbers are.
void map_is_real(Call& call) {
  auto& onnx = call.onnx;
  const Val yes = onnx.scalar(ElementType::boolean, 1);
  call.result(onnx.emit("Expand", {yes, onnx.emit("Shape", {call.tensor("self")})}));
}

/// self log(1 + other), 0 where the factor is 0 and the logarithm has an argument.
void map_factor_and_log1p(Call& call) {
  auto& onnx = call.onnx;
  ElementType type = promoted(call, "self", "other");
  if (!is_floating(type)) type = ElementType::float32;
  const Val a = call.number("self", type), b = call.number("other", type);
  const Val zero = onnx.scalar(type, 0), one = onnx.scalar(type, 1);
  // log(1 + b) = log(u) b / (u - 1) for u = 1 + b as it is rounded, which keeps the digits of a small b.
  const Val u = onnx.emit("Add", {b, one}), gap = onnx.emit("Sub", {u, one});
  const Val is_same = onnx.emit("Or", {onnx.emit("Equal", {gap, zero}), onnx.emit("IsInf", {gap})});
  const Val ratio = onnx.emit("Where", {is_same, one, onnx.emit("Div", {b, gap})});
  const Val logarithm =
      onnx.emit("Where", {onnx.emit("Equal", {gap, zero}), b, onnx.emit("Mul", {onnx.emit("Log", {u}), ratio})});
  const Val none = onnx.emit("And", {onnx.emit("Equal", {a, zero}), onnx.emit("Not", {onnx.emit("IsNaN", {b})})});
  call.result(onnx.emit("Where", {none, zero, onnx.emit("Mul", {a, logarithm})}));
}

}  // namespace

void register_bits(Mappings& mappings);
void register_bits(Mappings& mappings) {
  mappings.add({"aten.bitwise_left_shift.Tensor", "aten.bitwise_left_shift.Tensor_Scalar",
                "aten.bitwise_left_shift.Scalar_Tensor", "aten.__lshift__.Tensor", "aten.__lshift__.Scalar"},
               map_left_shift);
  mappings.add({"aten.bitwise_right_shift.Tensor", "aten.bitwise_right_shift.Tensor_Scalar",
                "aten.bitwise_right_shift.Scalar_Tensor", "aten.__rshift__.Tensor", "aten.__rshift__.Scalar"},
               map_right_shift);
  mappings.add("aten.gcd.default", map_divisor<false>);
  mappings.add("aten.lcm.default", map_divisor<true>);
  mappings.add("aten.frexp.Tensor", map_fraction_and_exponent);
  mappings.add({"aten.ldexp.Tensor", "aten.ldexp.default"},
               map_scale_by_power);  // that written in place is the default
  mappings.add({"aten.float_power.Tensor_Tensor", "aten.float_power.Tensor_Scalar", "aten.float_power.Scalar"},
               map_double_power);
  mappings.add("aten.signbit.default", map_sign_bit);
  mappings.add("aten.isreal.default", map_is_real);
  mappings.add(
      {"aten.special_xlog1py.default", "aten.special_xlog1py.other_scalar", "aten.special_xlog1py.self_scalar"},
      map_factor_and_log1p);
}

}  // namespace onnxkit::pt2
