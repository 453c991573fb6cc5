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

/// Whether an operand that is computed is a number of Python's, a vector of one, and no tensor: its reader says so, or the file is one which states the
/// types of all tensors, and none for it.
bool is_number(foreign::Call& call, std::string_view name) {
  const foreign::Argument* given = call.argument(name);
  const foreign::Value* value = given && given->as<foreign::ValueId>() ? call.declared(name) : nullptr;
  if (!value || value->is_number) return value != nullptr;
  const foreign::Val computed = call.tensor(name);
  return call.declared_type() && !value->type && call.onnx.rank(computed) == 1 && call.onnx.size(computed, 0) == 1;
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
  if (is_number(call, name))
    return {1, is_floating(call.onnx.elem(value)) ? ElementType::float32 : call.onnx.elem(value)};
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
  Operands x = {call.number(a, type), call.number(b, type), type};
  // A number takes no part in the shape: beside a tensor that may have no axes it has none either.
  const bool is_number_a = is_number(call, a), is_number_b = is_number(call, b);
  if (is_number_a && call.onnx.rank(x.b).value_or(0) == 0)
    x.a = call.onnx.reshape(x.a, std::initializer_list<std::int64_t>{});
  if (is_number_b && call.onnx.rank(x.a).value_or(0) == 0)
    x.b = call.onnx.reshape(x.b, std::initializer_list<std::int64_t>{});
  return x;
}

foreign::Val floating_operand(foreign::Call& call) {
  const foreign::Val x = call.tensor("self");
  return is_floating(call.onnx.elem(x)) ? x : call.onnx.cast(x, ElementType::float32);
}

foreign::Val as_declared(foreign::Call& call, foreign::Val value) {
  const ElementType declared = call.declared_elem();
  return declared == ElementType::undefined ? value : call.onnx.cast(value, declared);
}

}  // namespace onnxkit::pt2
