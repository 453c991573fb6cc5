#include "converters/formats/pt2/promotion.h"

#include <algorithm>
#include <array>

namespace onnxkit::pt2 {
namespace {

enum class NumberKind : std::uint8_t { boolean, integer, floating };

NumberKind kind_of(ElementType type) {
  if (type == ElementType::boolean) return NumberKind::boolean;
  return is_floating(type) ? NumberKind::floating : NumberKind::integer;
}

/// What an operand asks for: a kind, how strongly, and a type.
struct Demand {
  int strength = 0;  ///< 0: missing, 1: a number, 2: a tensor without axes, 3: a tensor with axes
  ElementType type = ElementType::undefined;
};

Demand demand_of(foreign::Call& call, std::string_view name) {
  const foreign::Argument* given = call.argument(name);
  if (!given || given->is_none()) return {};
  if (given->as<bool>()) return {1, ElementType::boolean};
  if (given->as<std::int64_t>()) return {1, ElementType::int64};
  if (given->as<double>()) return {1, ElementType::float32};
  const foreign::Val value = call.tensor(name);
  const std::size_t rank = call.onnx.rank(value).value_or(1);
  return {rank == 0 ? 2 : 3, call.onnx.elem(value)};
}

}  // namespace

ElementType promoted(ElementType a, ElementType b) {
  if (a == b || b == ElementType::undefined) return a;
  if (a == ElementType::undefined) return b;
  if (kind_of(a) != kind_of(b)) return kind_of(a) > kind_of(b) ? a : b;
  constexpr std::array order = {ElementType::float16, ElementType::float32, ElementType::float64, ElementType::uint8,
                                ElementType::int8,    ElementType::int16,   ElementType::int32,   ElementType::int64};
  const bool halves = a == ElementType::bfloat16 || b == ElementType::bfloat16;
  const ElementType other = a == ElementType::bfloat16 ? b : a;
  if (halves) return other == ElementType::float16 ? ElementType::float32 : other;
  const bool mixes_signs =
      (a == ElementType::uint8 && b == ElementType::int8) || (a == ElementType::int8 && b == ElementType::uint8);
  if (mixes_signs) return ElementType::int16;
  return std::find(order.begin(), order.end(), a) > std::find(order.begin(), order.end(), b) ? a : b;
}

ElementType promoted(foreign::Call& call, std::string_view a, std::string_view b) {
  Demand first = demand_of(call, a), second = demand_of(call, b);
  if (first.strength == second.strength) return promoted(first.type, second.type);
  if (first.strength < second.strength) std::swap(first, second);
  if (second.strength == 0 || kind_of(first.type) >= kind_of(second.type)) return first.type;
  return second.type;
}

Operands operands_of(foreign::Call& call, std::string_view a, std::string_view b) {
  const ElementType type = promoted(call, a, b);
  return {call.number(a, type), call.number(b, type), type};
}

foreign::Val floating_operand(foreign::Call& call) {
  const foreign::Val x = call.tensor("self");
  return is_floating(call.onnx.elem(x)) ? x : call.onnx.cast(x, ElementType::float32);
}

}  // namespace onnxkit::pt2
