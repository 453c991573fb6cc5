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

Type with_elem(Type type, ElementType elem) {
  type.elem = elem;
  return type;
}

Type with_shape(const Type& type, Shape shape) { return Type::tensor(type.elem, std::move(shape)); }

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
  return call.emit("aten.add.Tensor", {{"self", x}, {"other", call.scalar(call.type_of(x).elem, value)}},
                   call.type_of(x));
}

ValueId multiply_number(WriteCall& call, ValueId x, double value) {
  return call.emit("aten.mul.Tensor", {{"self", x}, {"other", call.scalar(call.type_of(x).elem, value)}},
                   call.type_of(x));
}

}  // namespace onnxkit::aten
