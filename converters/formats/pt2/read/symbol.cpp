// Sizes as numbers, and the arithmetic of such numbers: vectors of one int64.
#include <algorithm>

#include <fmt/format.h>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Shape;
using foreign::Val;

/// The type of fractions, as in Python: in float32 int(90 * 0.7) is 63.
constexpr ElementType fraction = ElementType::float64;

void map_size(Call& call) {
  const Val x = call.complex(call.has("self") ? "self" : "input").real;
  call.result(call.onnx.size_of(x, call.axis("dim", 0, call.rank(x))));
}

/// Python's operators name their operands a and b; an operand may be a fraction.
struct Numbers {
  Val a, b;
  bool has_fraction = false;
};

bool is_fraction(Call& call, std::string_view name) {
  const foreign::Argument* given = call.argument(name);
  if (!given) return false;
  if (given->as<double>()) return true;
  return given->as<foreign::ValueId>() && is_floating(call.onnx.elem(call.tensor(name)));
}

Val operand(Call& call, std::string_view name, bool has_fraction) {
  if (!call.argument(name)) call.refuse(fmt::format("argument {} is missing", name));
  if (has_fraction) return call.number(name, fraction);
  return call.size(name, 0);
}

Numbers numbers_of(Call& call) {
  Numbers numbers;
  numbers.has_fraction = is_fraction(call, "a") || is_fraction(call, "b");
  numbers.a = operand(call, "a", numbers.has_fraction);
  numbers.b = operand(call, "b", numbers.has_fraction);
  return numbers;
}

/// A constant where the content is known.
void give(Call& call, Val value) {
  const auto known = call.onnx.constant_integers(value);
  const bool is_size = known && known->size() == 1 && call.onnx.elem(value) == ElementType::int64;
  call.result(is_size ? call.onnx.integers(*known) : value);
}

void map_arithmetic(Call& call, std::string_view op) {
  const Numbers x = numbers_of(call);
  give(call, call.onnx.emit(op, {x.a, x.b}));
}

void map_plus(Call& call) { map_arithmetic(call, "Add"); }
void map_minus(Call& call) { map_arithmetic(call, "Sub"); }
void map_times(Call& call) { map_arithmetic(call, "Mul"); }
void map_smaller(Call& call) { map_arithmetic(call, "Min"); }
void map_larger(Call& call) { map_arithmetic(call, "Max"); }

/// Sizes are at least 0, and so are sums and products of them.
bool is_natural(Call& call, Val value) {
  const Shape known = call.onnx.symbolic_integers(value);
  if (known.size() != 1 || known.front().is_unknown()) return false;
  if (known.front().is_constant()) return known.front().constant() >= 0;
  const auto terms = call.onnx.dims().terms(known.front());
  return std::all_of(terms.begin(), terms.end(), [](const ir::DimTerm& term) { return term.coefficient >= 0; });
}

/// Div rounds towards zero: of numbers that may be negative what Mod leaves is taken off before.
void map_floor_quotient(Call& call) {
  const Numbers x = numbers_of(call);
  const bool is_plain = x.has_fraction || (is_natural(call, x.a) && is_natural(call, x.b));
  const Val whole = is_plain ? x.a : call.onnx.emit("Sub", {x.a, call.onnx.emit("Mod", {x.a, x.b})});
  Val quotient = call.onnx.emit("Div", {whole, x.b});
  if (x.has_fraction) quotient = call.onnx.emit("Floor", {quotient});
  give(call, quotient);
}

void map_true_quotient(Call& call) {
  const Val a = call.number("a", fraction), b = call.number("b", fraction);
  call.result(call.onnx.emit("Div", {a, b}));
}

void map_modulo(Call& call) {
  const Numbers x = numbers_of(call);
  if (!x.has_fraction) return give(call, call.onnx.emit("Mod", {x.a, x.b}));
  const Val whole = call.onnx.emit("Floor", {call.onnx.emit("Div", {x.a, x.b})});
  call.result(call.onnx.emit("Sub", {x.a, call.onnx.emit("Mul", {whole, x.b})}));
}

void map_power(Call& call) {
  const Numbers x = numbers_of(call);
  give(call, call.onnx.emit("Pow", {x.a, x.b}));
}

void map_negative(Call& call) { give(call, call.onnx.emit("Neg", {operand(call, "a", is_fraction(call, "a"))})); }

/// Functions of one number name it x, a or number.
std::string_view only_argument(Call& call) {
  if (call.node.arguments.size() == 1) return call.node.arguments.front().name;
  call.refuse("it has another number of arguments");
  return "a";
}

/// A fraction rounded to a whole number.
void map_rounded(Call& call, std::string_view op) {
  const std::string_view name = only_argument(call);
  if (!is_fraction(call, name)) return call.result(call.size(name, 0));
  const Val rounded = call.onnx.emit(op, {call.number(name, fraction)});
  give(call, call.onnx.cast(rounded, ElementType::int64));
}

void map_floor(Call& call) { map_rounded(call, "Floor"); }
void map_ceil(Call& call) { map_rounded(call, "Ceil"); }

void map_function(Call& call, std::string_view op) {
  call.result(call.onnx.emit(op, {call.number(only_argument(call), fraction)}));
}
void map_root(Call& call) { map_function(call, "Sqrt"); }
void map_exponential(Call& call) { map_function(call, "Exp"); }
void map_logarithm(Call& call) { map_function(call, "Log"); }
void map_absolute(Call& call) {
  const std::string_view name = only_argument(call);
  give(call, call.onnx.emit("Abs", {operand(call, name, is_fraction(call, name))}));
}

/// Towards zero, as Cast does.
void map_truncated(Call& call) {
  const std::string_view name = only_argument(call);
  if (!is_fraction(call, name)) return call.result(call.size(name, 0));
  give(call, call.onnx.cast(call.number(name, fraction), ElementType::int64));
}

void map_as_float(Call& call) { call.result(call.number(only_argument(call), fraction)); }

void map_compared(Call& call, std::string_view op, bool negated) {
  const Numbers x = numbers_of(call);
  const Val compared = call.onnx.emit(op, {x.a, x.b});
  call.result(negated ? call.onnx.emit("Not", {compared}) : compared);
}

void map_equal(Call& call) { map_compared(call, "Equal", false); }
void map_unequal(Call& call) { map_compared(call, "Equal", true); }
void map_less(Call& call) { map_compared(call, "Less", false); }
void map_at_most(Call& call) { map_compared(call, "LessOrEqual", false); }
void map_greater(Call& call) { map_compared(call, "Greater", false); }
void map_at_least(Call& call) { map_compared(call, "GreaterOrEqual", false); }

/// The only element of a tensor as a number.
void map_item(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  if (type == ElementType::float32 || type == ElementType::boolean) return call.result(onnx.reshape(x, {1}));
  call.result(onnx.reshape(onnx.cast(x, is_floating(type) ? fraction : ElementType::int64), {1}));
}

/// The number of elements.
void map_element_count(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.complex("self").real;
  Val count = onnx.integers({1});
  for (std::size_t axis = 0; axis < call.rank(x); ++axis)
    count = onnx.emit("Mul", {count, onnx.size_of(x, static_cast<std::int64_t>(axis))});
  call.result(count);
}

}  // namespace

void register_symbol(Mappings& mappings);
void register_symbol(Mappings& mappings) {
  mappings.add("aten.sym_numel.default", map_element_count);
  mappings.add("aten.sym_size.int", map_size);
  mappings.add("_operator.add", map_plus);
  mappings.add("_operator.sub", map_minus);
  mappings.add("_operator.mul", map_times);
  mappings.add("_operator.floordiv", map_floor_quotient);
  mappings.add("_operator.truediv", map_true_quotient);
  mappings.add("_operator.mod", map_modulo);
  mappings.add("_operator.pow", map_power);
  mappings.add("_operator.neg", map_negative);
  mappings.add("math.floor", map_floor);
  mappings.add("math.trunc", map_truncated);
  mappings.add("math.sqrt", map_root);
  mappings.add("math.exp", map_exponential);
  mappings.add("math.log", map_logarithm);
  mappings.add("_operator.abs", map_absolute);
  mappings.add("math.ceil", map_ceil);
  mappings.add({"sym_min", "torch.sym_min", "sym_min.default"}, map_smaller);
  mappings.add({"sym_max", "torch.sym_max", "sym_max.default"}, map_larger);
  mappings.add({"sym_float", "torch.sym_float"}, map_as_float);
  mappings.add({"sym_int", "torch.sym_int"}, map_truncated);
  mappings.add("_operator.eq", map_equal);
  mappings.add("_operator.ne", map_unequal);
  mappings.add("_operator.lt", map_less);
  mappings.add("_operator.le", map_at_most);
  mappings.add("_operator.gt", map_greater);
  mappings.add("_operator.ge", map_at_least);
  mappings.add({"aten.item.default", "aten._local_scalar_dense.default"}, map_item);
}

}  // namespace onnxkit::pt2
