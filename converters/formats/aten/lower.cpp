#include "converters/formats/aten/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include "converters/formats/pt2/dtype.h"

namespace onnxkit::aten {
namespace {

/// A SymInt: a value without a tensor type that knows its size.
ValueId emit_size(WriteCall& call, std::string_view op, std::vector<Given> given, Dim size) {
  return call.emit_size(op, std::move(given), size);
}

ValueId size_value(WriteCall& call, Dim size, int depth);

/// An operand of size arithmetic.
Given size_operand(WriteCall& call, std::string_view name, Dim size, int depth) {
  if (size.is_constant()) return {name, size.constant()};
  return {name, size_value(call, size, depth)};
}

ValueId factor_value(WriteCall& call, const ir::DimFactor& factor, Dim whole, int depth) {
  using Kind = ir::DimFactor::Kind;
  if (factor.kind == Kind::floor_div)
    return emit_size(call, "_operator.floordiv",
                     {size_operand(call, "a", factor.a, depth), size_operand(call, "b", factor.b, depth)}, whole);
  if (factor.kind == Kind::positive_part)
    return emit_size(call, "torch.sym_max", {size_operand(call, "a", factor.a, depth), {"b", std::int64_t{0}}}, whole);
  call.refuse(fmt::format("size {} can be computed from no input", call.dims().to_string(whole)));
  return ValueId::none;
}

ValueId computed_size(WriteCall& call, Dim size, int depth) {
  ValueId sum = ValueId::none;
  auto& dims = call.dims();
  Dim so_far = 0;
  for (const ir::DimTerm& term : dims.terms(size)) {
    ValueId product = ValueId::none;
    Dim product_size = 1;
    for (const ir::DimFactor& factor : term.factors) {
      const Dim part = factor.value;
      const ValueId value = part == size ? factor_value(call, factor, part, depth) : size_value(call, part, depth);
      product_size = dims.mul(product_size, part);
      product = product == ValueId::none
                    ? value
                    : emit_size(call, "_operator.mul", {{"a", product}, {"b", value}}, product_size);
    }
    const Dim scaled = dims.mul(product_size, term.coefficient);
    if (product == ValueId::none) {
      if (sum == ValueId::none) return ValueId::none;
      so_far = dims.add(so_far, term.coefficient);
      sum = emit_size(call, "_operator.add", {{"a", sum}, {"b", term.coefficient}}, so_far);
      continue;
    }
    if (term.coefficient != 1)
      product = emit_size(call, "_operator.mul", {{"a", product}, {"b", term.coefficient}}, scaled);
    so_far = dims.add(so_far, scaled);
    sum = sum == ValueId::none ? product : emit_size(call, "_operator.add", {{"a", sum}, {"b", product}}, so_far);
  }
  return sum;
}

ValueId size_value(WriteCall& call, Dim size, int depth) {
  constexpr int max_depth = 16;
  if (depth > max_depth) {
    call.refuse("a size is too long an expression");
    return ValueId::none;
  }
  return call.once("size " + call.dims().to_string(size), [&] {
    if (const auto [value, axis] = call.with_size(size); value != ValueId::none)
      return emit_size(call, "aten.sym_size.int", {{"self", value}, {"dim", static_cast<std::int64_t>(axis)}}, size);
    return computed_size(call, size, depth + 1);
  });
}

}  // namespace

bool is_computable(WriteCall& call, Dim size) {
  using Kind = ir::DimFactor::Kind;
  if (size.is_constant()) return true;
  if (size.is_unknown()) return false;
  if (call.has_size(size)) return true;
  for (const ir::DimTerm& term : call.dims().terms(size)) {
    for (const ir::DimFactor& factor : term.factors) {
      if (factor.value != size) {
        if (!is_computable(call, factor.value)) return false;
        continue;
      }
      const bool divides = factor.kind == Kind::floor_div;
      if (!divides && factor.kind != Kind::positive_part) return false;
      if (!is_computable(call, factor.a) || (divides && !is_computable(call, factor.b))) return false;
    }
  }
  return true;
}

bool are_computable(WriteCall& call, const Shape& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [&](Dim size) { return is_computable(call, size); });
}

ValueId item(WriteCall& call, ValueId x, Dim size) {
  const auto make = [&] { return emit_size(call, "aten.item.default", {{"self", x}}, size); };
  return call.once(fmt::format("item {}", index_of(x)), make);
}

std::variant<std::int64_t, ValueId> integer_argument(WriteCall& call, std::size_t input) {
  const Shape known = call.symbolic_integers(input);
  if (known.size() == 1 && is_computable(call, known.front())) return size_argument(call, known.front());
  return item(call, call.input(input), known.size() == 1 ? known.front() : Dim());
}

Given::Mixed integer_arguments(WriteCall& call, std::size_t input) {
  const Shape known = call.symbolic_integers(input);
  if (!known.empty() && are_computable(call, known)) return size_arguments(call, known);
  const auto count = call.size(input, 0);
  if (!count) call.refuse("how many integers its input " + std::to_string(input) + " holds is not known");
  Given::Mixed arguments;
  for (Int i = 0; i < count.value_or(0); ++i) {
    const Dim one = static_cast<std::size_t>(i) < known.size() ? known[static_cast<std::size_t>(i)] : Dim();
    if (is_computable(call, one))
      arguments.push_back(size_argument(call, one));
    else
      arguments.push_back(item(call, select(call, call.input(input), 0, i), one));
  }
  return arguments;
}

std::variant<std::int64_t, ValueId> size_argument(WriteCall& call, Dim size) {
  if (size.is_constant()) return size.constant();
  if (size.is_unknown()) {
    call.refuse("a size that it needs is known only when the model runs");
    return std::int64_t{1};
  }
  return size_value(call, size, 0);
}

Given::Mixed size_arguments(WriteCall& call, const Shape& sizes) {
  Given::Mixed arguments;
  for (const Dim size : sizes) arguments.push_back(size_argument(call, size));
  return arguments;
}

ValueId cast(WriteCall& call, ValueId x, ElementType elem) {
  const Type& type = call.type_of(x);
  if (type.elem == elem) return x;
  return call.emit("aten.to.dtype", {{"self", x}, {"dtype", elem}}, with_elem(type, elem));
}

ValueId permute(WriteCall& call, ValueId x, std::vector<std::int64_t> order) {
  Type type = call.type_of(x);
  if (type.shape && type.shape->size() == order.size()) {
    const Shape before = *type.shape;
    for (std::size_t i = 0; i < order.size(); ++i) (*type.shape)[i] = before[static_cast<std::size_t>(order[i])];
  }
  return call.emit("aten.permute.default", {{"self", x}, {"dims", std::move(order)}}, std::move(type));
}

ValueId unsqueeze(WriteCall& call, ValueId x, const std::vector<std::int64_t>& axes) {
  for (const std::int64_t axis : axes) {
    Type type = call.type_of(x);
    if (type.shape) type.shape->insert(type.shape->begin() + axis, Dim(1));
    x = call.emit("aten.unsqueeze.default", {{"self", x}, {"dim", axis}}, std::move(type));
  }
  return x;
}

ValueId reshape(WriteCall& call, ValueId x, const Shape& shape) {
  return call.emit("aten.reshape.default", {{"self", x}, {"shape", size_arguments(call, shape)}},
                   with_shape(call.type_of(x), shape));
}

ValueId unary(WriteCall& call, std::string_view op, ValueId x) { return call.emit(op, {{"self", x}}, call.type_of(x)); }

ValueId binary(WriteCall& call, std::string_view op, ValueId a, ValueId b, Type type) {
  return call.emit(op, {{"self", a}, {"other", b}}, std::move(type));
}

ValueId add_number(WriteCall& call, ValueId x, double value) {
  const Type type = call.type_of(x);
  return call.emit("aten.add.Scalar", {{"self", x}, number("other", type.elem, value)}, type);
}

ValueId multiply_number(WriteCall& call, ValueId x, double value) {
  const Type type = call.type_of(x);
  return call.emit("aten.mul.Scalar", {{"self", x}, number("other", type.elem, value)}, type);
}

Given number(std::string_view name, ElementType elem, double value) {
  if (is_integer(elem) || elem == ElementType::boolean) return {name, static_cast<Int>(value)};
  return {name, value};
}

ValueId compare_number(WriteCall& call, std::string_view op, ValueId x, double value) {
  const Type type = call.type_of(x);
  return call.emit(op, {{"self", x}, number("other", type.elem, value)}, with_elem(type, ElementType::boolean));
}

ValueId where(WriteCall& call, ValueId condition, ValueId a, ValueId b, Type type) {
  return call.emit("aten.where.self", {{"condition", condition}, {"self", a}, {"other", b}}, std::move(type));
}

ValueId clamp(WriteCall& call, ValueId x, double low, double high) {
  const Type type = call.type_of(x);
  return call.emit("aten.clamp.default", {{"self", x}, number("min", type.elem, low), number("max", type.elem, high)},
                   type);
}

ValueId slice(WriteCall& call, ValueId x, Int axis, Int begin, Int end, Dim size) {
  Type type = call.type_of(x);
  if (type.shape && static_cast<std::size_t>(axis) < type.shape->size())
    (*type.shape)[static_cast<std::size_t>(axis)] = size;
  return call.emit("aten.slice.Tensor", {{"self", x}, {"dim", axis}, {"start", begin}, {"end", end}}, std::move(type));
}

ValueId select(WriteCall& call, ValueId x, Int axis, Int index) {
  Type type = call.type_of(x);
  const std::size_t place = axis < 0 && type.shape ? type.shape->size() - 1 : static_cast<std::size_t>(axis);
  if (type.shape && place < type.shape->size())
    type.shape->erase(type.shape->begin() + static_cast<std::ptrdiff_t>(place));
  return call.emit("aten.select.int", {{"self", x}, {"dim", axis}, {"index", index}}, std::move(type));
}

ValueId flip(WriteCall& call, ValueId x, Int axis) {
  return call.emit("aten.flip.default", {{"self", x}, {"dims", Ints{axis}}}, call.type_of(x));
}

ValueId concat(WriteCall& call, std::vector<ValueId> parts, Int axis, Type type) {
  return call.emit("aten.cat.default", {{"tensors", std::move(parts)}, {"dim", axis}}, std::move(type));
}

ValueId reduce(WriteCall& call, std::string_view op, ValueId x, const Ints& axes, bool keeps, ElementType sum_elem) {
  Type type = call.type_of(x);
  if (type.shape) {
    Shape shape;
    for (std::size_t i = 0; i < type.shape->size(); ++i) {
      const bool goes = std::find(axes.begin(), axes.end(), static_cast<Int>(i)) != axes.end();
      if (!goes) shape.push_back((*type.shape)[i]);
      if (goes && keeps) shape.push_back(Dim(1));
    }
    type.shape = shape;
  }
  std::vector<Given> given = {{"self", x}, {"dim", axes}, {"keepdim", keeps}};
  if (sum_elem != ElementType::undefined) given.push_back({"dtype", sum_elem});
  if (sum_elem != ElementType::undefined) type.elem = sum_elem;
  return call.emit(op, std::move(given), std::move(type));
}

ValueId full(WriteCall& call, const Shape& shape, double value, ElementType elem) {
  return call.emit("aten.full.default",
                   {{"size", size_arguments(call, shape)}, number("fill_value", elem, value), {"dtype", elem}},
                   Type::tensor(elem, shape));
}

ValueId full(WriteCall& call, const Shape& shape, Dim value, ElementType elem) {
  Given filling{"fill_value", Int{0}};
  std::visit([&](auto one) { filling.value = one; }, size_argument(call, value));
  return call.emit("aten.full.default", {{"size", size_arguments(call, shape)}, filling, {"dtype", elem}},
                   Type::tensor(elem, shape));
}

ValueId sizes_tensor(WriteCall& call, const Shape& sizes) {
  std::vector<ValueId> parts;
  Ints constants;
  const auto flush = [&] {
    if (!constants.empty()) parts.push_back(call.integers_tensor(ElementType::int64, constants));
    constants.clear();
  };
  for (const Dim size : sizes) {
    if (size.is_constant()) {
      constants.push_back(size.constant());
      continue;
    }
    flush();
    parts.push_back(full(call, {Dim(1)}, size, ElementType::int64));
  }
  flush();
  if (parts.size() == 1) return parts.front();
  return concat(call, parts, 0, Type::tensor(ElementType::int64, {Dim(static_cast<Int>(sizes.size()))}));
}

ValueId count_up(WriteCall& call, Dim size) {
  if (size.is_constant() && size.constant() <= 4096) {
    Ints values;
    for (Int i = 0; i < size.constant(); ++i) values.push_back(i);
    return call.integers_tensor(ElementType::int64, values);
  }
  Given end{"end", Int{0}};
  std::visit([&](auto value) { end.value = value; }, size_argument(call, size));
  return call.emit("aten.arange.start_step", {{"start", Int{0}}, end, {"step", Int{1}}, {"dtype", ElementType::int64}},
                   Type::tensor(ElementType::int64, {size}));
}

bool has_arithmetic(WriteCall& call, ElementType elem) {
  using E = ElementType;
  const bool lacks = elem == E::uint16 || elem == E::uint32 || elem == E::uint64 || elem == E::string ||
                     elem == E::undefined || pt2::scalar_type_of(elem) == 0;
  if (lacks)
    call.refuse(fmt::format("PyTorch has no arithmetic of {}", name_of(elem)), "convert its operands to int64 first");
  return !lacks;
}

}  // namespace onnxkit::aten
