#include "converters/foreign/tensorflow_family/operators.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::tensorflow_family {

void register_all_tensorflow_family_writers(Writers& writers);

Writers::Writers(const foreign::Dialect& dialect) {
  register_all_tensorflow_family_writers(*this);
  set_dialect(dialect);
}

// ---- constants

ValueId numbers(WriteCall& call, const Ints& values) { return call.integers_tensor(ElementType::int32, values); }

ValueId number(WriteCall& call, std::int64_t value) {
  return call.scalar(ElementType::int32, static_cast<double>(value));
}

ValueId matrix(WriteCall& call, Ints dims, const Ints& values) {
  return call.once(fmt::format("m{}:{}", fmt::join(dims, ","), fmt::join(values, ",")), [&] {
    std::string bytes(values.size() * sizeof(std::int32_t), '\0');
    encode(ElementType::int32, std::span<const std::int64_t>(values),
           std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
    return call.tensor(ElementType::int32, dims, std::move(bytes));
  });
}

ValueId sizes_of(WriteCall& call, ValueId x, ElementType elem) {
  const auto make = [&] {
    const auto rank = static_cast<std::int64_t>(rank_of(call, x));
    return emit(call, "Shape", {{"input", x}, {"out_type", elem}}, Type::tensor(elem, {Dim(rank)}));
  };
  return call.dialect().is_lite ? make()
                                : call.once(fmt::format("sizes{}:{}", index_of(x), static_cast<int>(elem)), make);
}

bool are_computable(WriteCall& call, const Shape& sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](Dim size) { return size.is_constant() || (!size.is_unknown() && call.has_size(size)); });
}

namespace {

/// One size of a value, as a vector of one element.
ValueId size_vector(WriteCall& call, Dim size) {
  const auto [holder, axis] = call.with_size(size);
  if (size.is_unknown() || holder == ValueId::none) {
    call.refuse("it needs a size that no value of the graph has", "give the model's open sizes constants");
    return holder;
  }
  return call.once(fmt::format("size{}:{}", index_of(holder), axis), [&, from = holder, at = axis] {
    const auto place = static_cast<std::int64_t>(at);
    const ValueId sizes = sizes_of(call, from);
    std::vector<Given> given = {{"input", sizes},
                                {"begin", numbers(call, {place})},
                                {"end", numbers(call, {place + 1})},
                                {"strides", numbers(call, {1})}};
    if (!call.dialect().is_lite) given.push_back({"end_mask", std::int64_t{0}});
    return emit(call, "StridedSlice", std::move(given), Type::tensor(ElementType::int32, {Dim(1)}));
  });
}

}  // namespace

ValueId sizes_vector(WriteCall& call, const Shape& sizes) {
  if (const auto known = known_sizes(Type::tensor(ElementType::int32, sizes))) return numbers(call, *known);
  std::vector<ValueId> parts;
  for (const Dim size : sizes)
    parts.push_back(size.is_constant() ? numbers(call, {size.constant()}) : size_vector(call, size));
  if (call.refused()) return parts.front();
  return concat(call, parts, 0, Type::tensor(ElementType::int32, {Dim(static_cast<std::int64_t>(sizes.size()))}));
}

ValueId shape_operand(WriteCall& call, std::size_t input, const Type& known) {
  if (known.shape && are_computable(call, *known.shape)) return sizes_vector(call, *known.shape);
  return call.dialect().is_lite ? cast(call, call.input(input), ElementType::int32) : call.input(input);
}

// ---- operators

std::string_view name_in_dialect(const WriteCall& call, std::string_view name) {
  for (const auto& [common, own] : call.dialect().names)
    if (common == name) return own;
  return name;
}

namespace {

/// The axis of an operator that has it as an operand, or as an attribute.
Given axis_given(WriteCall& call, std::int64_t axis) {
  if (call.dialect().is_lite) return {"axis", axis};
  return {"axis", number(call, axis)};
}

}  // namespace

ValueId emit(WriteCall& call, std::string_view op, std::vector<Given> given, Type type) {
  for (Given& one : given) one.name = name_in_dialect(call, one.name);
  return call.emit(name_in_dialect(call, op), std::move(given), std::move(type));
}

ValueId unary(WriteCall& call, std::string_view op, ValueId x) {
  return emit(call, op, {{"x", x}}, Type(call.type_of(x)));
}

ValueId binary(WriteCall& call, std::string_view op, ValueId a, ValueId b) {
  return emit(call, op, {{"x", a}, {"y", b}}, broadcast_type(call, a, b));
}

ValueId binary(WriteCall& call, std::string_view op, ValueId a, double b) {
  return binary(call, op, a, call.scalar(call.type_of(a).elem, b));
}

ValueId compare(WriteCall& call, std::string_view op, ValueId a, ValueId b) {
  return emit(call, op, {{"x", a}, {"y", b}}, with_elem(broadcast_type(call, a, b), ElementType::boolean));
}

ValueId select(WriteCall& call, ValueId condition, ValueId a, ValueId b) {
  Type type = broadcast_type(call, a, b);
  if (const Type& mask = call.type_of(condition); mask.shape && type.shape && mask.shape->size() > type.shape->size())
    type.shape = mask.shape;
  return emit(call, "SelectV2", {{"condition", condition}, {"t", a}, {"e", b}}, std::move(type));
}

ValueId cast(WriteCall& call, ValueId x, ElementType elem) {
  const ElementType from = call.type_of(x).elem;
  if (from == elem) return x;
  std::vector<Given> given = {{"x", x}, {"DstT", elem}};
  if (call.dialect().is_lite) given.push_back({"in_data_type", from});
  return emit(call, "Cast", std::move(given), with_elem(call.type_of(x), elem));
}

ValueId transpose(WriteCall& call, ValueId x, const Ints& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  const Type& type = call.type_of(x);
  Type moved = Type::tensor(type.elem);
  if (type.shape && type.shape->size() == order.size()) {
    moved.shape.emplace();
    for (const std::int64_t axis : order) moved.shape->push_back((*type.shape)[static_cast<std::size_t>(axis)]);
  }
  return emit(call, "Transpose", {{"x", x}, {"perm", numbers(call, order)}}, std::move(moved));
}

Ints swapped_axes(std::size_t rank, std::size_t a, std::size_t b) {
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (a < rank && b < rank) std::swap(order[a], order[b]);
  return order;
}

ValueId reshape(WriteCall& call, ValueId x, const Shape& shape) {
  const Type& type = call.type_of(x);
  if (type.shape && *type.shape == shape) return x;
  const bool is_lite = call.dialect().is_lite;
  if (is_lite &&
      shape.empty()) {  // a vector of no sizes would be no constant there; without axes all of one element go
    Ints axes(type.shape ? type.shape->size() : 0);
    std::iota(axes.begin(), axes.end(), 0);
    return squeeze(call, x, axes, with_shape(type, shape));
  }
  Ints sizes;
  std::size_t open = 0;
  bool has_zero = false;
  for (const Dim dim : shape) {
    open += dim.is_constant() ? 0 : 1;
    has_zero = has_zero || dim.is(0);
    sizes.push_back(dim.is_constant() ? dim.constant() : -1);
  }
  const bool needs_sizes = open > 1 || (open == 1 && has_zero);
  const ValueId wanted = needs_sizes ? sizes_vector(call, shape) : numbers(call, sizes);
  std::vector<Given> given = {{"tensor", x}, {"shape", wanted}};
  if (is_lite && !needs_sizes) given.push_back({"new_shape", sizes});
  return emit(call, "Reshape", std::move(given), with_shape(call.type_of(x), shape));
}

ValueId as_scalar(WriteCall& call, ValueId x) { return reshape(call, x, Shape()); }

ValueId expand_dims(WriteCall& call, ValueId x, std::int64_t axis) {
  Type type = call.type_of(x);
  if (type.shape) type.shape->insert(type.shape->begin() + axis, Dim(1));
  const ValueId place = call.dialect().is_lite ? numbers(call, {axis}) : number(call, axis);
  return emit(call, "ExpandDims", {{"input", x}, {"dim", place}}, std::move(type));
}

ValueId squeeze(WriteCall& call, ValueId x, const Ints& axes, Type type) {
  return emit(call, "Squeeze", {{"input", x}, {"squeeze_dims", axes}}, std::move(type));
}

ValueId reduce(WriteCall& call, std::string_view op, ValueId x, const Ints& axes, bool keeps) {
  Type type = Type::tensor(call.type_of(x).elem);
  if (const Type& whole = call.type_of(x); whole.shape) {
    type.shape.emplace();
    for (std::size_t axis = 0; axis < whole.shape->size(); ++axis) {
      const bool goes = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
      if (!goes) type.shape->push_back((*whole.shape)[axis]);
      if (goes && keeps) type.shape->push_back(Dim(1));
    }
  }
  return emit(call, op, {{"input", x}, {"reduction_indices", numbers(call, axes)}, {"keep_dims", keeps}},
              std::move(type));
}

ValueId reduced(WriteCall& call, std::string_view op, ValueId x, const Ints& axes, bool keeps) {
  return axes.empty() ? x : reduce(call, op, x, axes, keeps);
}

ValueId concat(WriteCall& call, const std::vector<ValueId>& xs, std::int64_t axis, Type type) {
  if (xs.size() == 1) return xs.front();
  return emit(call, "ConcatV2", {{"values", xs}, axis_given(call, axis)}, std::move(type));
}

ValueId gather(WriteCall& call, ValueId x, ValueId indices, std::int64_t axis, Type type) {
  return emit(call, "GatherV2", {{"params", x}, {"indices", indices}, axis_given(call, axis)}, std::move(type));
}

ValueId reversed(WriteCall& call, ValueId x, std::int64_t axis) {
  return emit(call, "ReverseV2", {{"tensor", x}, {"axis", numbers(call, {axis})}}, Type(call.type_of(x)));
}

ValueId fill(WriteCall& call, ValueId sizes, ValueId value, Type type) {
  return emit(call, "Fill", {{"dims", sizes}, {"value", value}}, std::move(type));
}

ValueId pad(WriteCall& call, ValueId x, const Ints& begins, const Ints& ends, double value) {
  const auto is_zero = [](std::int64_t n) { return n == 0; };
  if (std::all_of(begins.begin(), begins.end(), is_zero) && std::all_of(ends.begin(), ends.end(), is_zero)) return x;
  Ints pairs;
  Type type = call.type_of(x);
  for (std::size_t axis = 0; axis < begins.size(); ++axis) {
    pairs.push_back(begins[axis]);
    pairs.push_back(ends[axis]);
    if (!type.shape || axis >= type.shape->size()) continue;
    Dim& size = (*type.shape)[axis];
    if (begins[axis] != 0 || ends[axis] != 0)
      size = size.is_constant() ? Dim(size.constant() + begins[axis] + ends[axis]) : Dim();
  }
  const ValueId paddings = matrix(call, {static_cast<std::int64_t>(begins.size()), 2}, pairs);
  if (value == 0) return emit(call, "Pad", {{"input", x}, {"paddings", paddings}}, std::move(type));
  const ValueId filling = call.scalar(type.elem, value);
  return emit(call, "PadV2", {{"input", x}, {"paddings", paddings}, {"constant_values", filling}}, std::move(type));
}

ValueId part(WriteCall& call, ValueId x, const Ints& begins, const std::vector<std::optional<std::int64_t>>& ends,
             const Ints& strides, Type type) {
  std::int64_t end_mask = 0;
  Ints last;
  for (std::size_t axis = 0; axis < ends.size(); ++axis) {
    if (!ends[axis]) end_mask |= std::int64_t{1} << axis;
    last.push_back(ends[axis].value_or(0));
  }
  return emit(call, "StridedSlice",
              {{"input", x},
               {"begin", numbers(call, begins)},
               {"end", numbers(call, last)},
               {"strides", numbers(call, strides)},
               {"end_mask", end_mask}},
              std::move(type));
}

// ---- inputs and results of nodes

ValueId operand(WriteCall& call, std::size_t input) {
  const ElementType elem = call.elem(input);
  if (!is_integer(elem) || elem == ElementType::int32 || elem == ElementType::int64) return call.input(input);
  return cast(call, call.input(input), storage_bits(elem) < 32 ? ElementType::int32 : ElementType::int64);
}

void give(WriteCall& call, ValueId value) { call.result(cast(call, value, call.output_type().elem)); }

}  // namespace onnxkit::tensorflow_family
