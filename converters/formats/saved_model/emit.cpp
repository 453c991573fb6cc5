#include "converters/formats/saved_model/emit.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tensorflow {

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
  return call.once(fmt::format("sizes{}:{}", index_of(x), static_cast<int>(elem)), [&] {
    const auto rank = static_cast<std::int64_t>(rank_of(call, x));
    return call.emit("Shape", {{"input", x}, {"out_type", elem}}, Type::tensor(elem, {Dim(rank)}));
  });
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
    return part(call, sizes_of(call, from), {place}, {place + 1}, {1}, Type::tensor(ElementType::int32, {Dim(1)}));
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

// ---- operators

ValueId unary(WriteCall& call, std::string_view op, ValueId x) {
  return call.emit(op, {{"x", x}}, Type(call.type_of(x)));
}

ValueId binary(WriteCall& call, std::string_view op, ValueId a, ValueId b) {
  return call.emit(op, {{"x", a}, {"y", b}}, broadcast_type(call, a, b));
}

ValueId binary(WriteCall& call, std::string_view op, ValueId a, double b) {
  return binary(call, op, a, call.scalar(call.type_of(a).elem, b));
}

ValueId compare(WriteCall& call, std::string_view op, ValueId a, ValueId b) {
  return call.emit(op, {{"x", a}, {"y", b}}, with_elem(broadcast_type(call, a, b), ElementType::boolean));
}

ValueId select(WriteCall& call, ValueId condition, ValueId a, ValueId b) {
  Type type = broadcast_type(call, a, b);
  if (const Type& mask = call.type_of(condition); mask.shape && type.shape && mask.shape->size() > type.shape->size())
    type.shape = mask.shape;
  return call.emit("SelectV2", {{"condition", condition}, {"t", a}, {"e", b}}, std::move(type));
}

ValueId cast(WriteCall& call, ValueId x, ElementType elem) {
  if (call.type_of(x).elem == elem) return x;
  return call.emit("Cast", {{"x", x}, {"DstT", elem}}, with_elem(call.type_of(x), elem));
}

ValueId transpose(WriteCall& call, ValueId x, const Ints& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  const Type& type = call.type_of(x);
  Type moved = Type::tensor(type.elem);
  if (type.shape && type.shape->size() == order.size()) {
    moved.shape.emplace();
    for (const std::int64_t axis : order) moved.shape->push_back((*type.shape)[static_cast<std::size_t>(axis)]);
  }
  return call.emit("Transpose", {{"x", x}, {"perm", numbers(call, order)}}, std::move(moved));
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
  return call.emit("Reshape", {{"tensor", x}, {"shape", wanted}}, with_shape(call.type_of(x), shape));
}

ValueId expand_dims(WriteCall& call, ValueId x, std::int64_t axis) {
  Type type = call.type_of(x);
  if (type.shape) type.shape->insert(type.shape->begin() + axis, Dim(1));
  return call.emit("ExpandDims", {{"input", x}, {"dim", number(call, axis)}}, std::move(type));
}

ValueId squeeze(WriteCall& call, ValueId x, const Ints& axes, Type type) {
  return call.emit("Squeeze", {{"input", x}, {"squeeze_dims", axes}}, std::move(type));
}

ValueId reduce(WriteCall& call, std::string_view op, ValueId x, const Ints& axes, bool keeps_axes) {
  Type type = Type::tensor(call.type_of(x).elem);
  if (const Type& whole = call.type_of(x); whole.shape) {
    type.shape.emplace();
    for (std::size_t axis = 0; axis < whole.shape->size(); ++axis) {
      const bool goes = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
      if (!goes) type.shape->push_back((*whole.shape)[axis]);
      if (goes && keeps_axes) type.shape->push_back(Dim(1));
    }
  }
  return call.emit(op, {{"input", x}, {"reduction_indices", numbers(call, axes)}, {"keep_dims", keeps_axes}},
                   std::move(type));
}

ValueId concat(WriteCall& call, const std::vector<ValueId>& xs, std::int64_t axis, Type type) {
  if (xs.size() == 1) return xs.front();
  return call.emit("ConcatV2", {{"values", xs}, {"axis", number(call, axis)}}, std::move(type));
}

ValueId gather(WriteCall& call, ValueId x, ValueId indices, std::int64_t axis, Type type) {
  return call.emit("GatherV2", {{"params", x}, {"indices", indices}, {"axis", number(call, axis)}}, std::move(type));
}

ValueId fill(WriteCall& call, ValueId sizes, ValueId value, Type type) {
  return call.emit("Fill", {{"dims", sizes}, {"value", value}}, std::move(type));
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
  if (value == 0) return call.emit("Pad", {{"input", x}, {"paddings", paddings}}, std::move(type));
  const ValueId filling = call.scalar(type.elem, value);
  return call.emit("PadV2", {{"input", x}, {"paddings", paddings}, {"constant_values", filling}}, std::move(type));
}

ValueId part(WriteCall& call, ValueId x, const Ints& begins, const std::vector<std::optional<std::int64_t>>& ends,
             const Ints& strides, Type type) {
  std::int64_t end_mask = 0;
  Ints last;
  for (std::size_t axis = 0; axis < ends.size(); ++axis) {
    if (!ends[axis]) end_mask |= std::int64_t{1} << axis;
    last.push_back(ends[axis].value_or(0));
  }
  return call.emit("StridedSlice",
                   {{"input", x},
                    {"begin", numbers(call, begins)},
                    {"end", numbers(call, last)},
                    {"strides", numbers(call, strides)},
                    {"end_mask", end_mask}},
                   std::move(type));
}

ValueId counted(WriteCall& call, Dim size) {
  if (size.is_constant() && size.constant() <= 4096) {
    Ints places(static_cast<std::size_t>(std::max<std::int64_t>(size.constant(), 0)));
    std::iota(places.begin(), places.end(), 0);
    return numbers(call, places);
  }
  const ValueId limit = reshape(call, sizes_vector(call, {size}), Shape());
  return call.emit("Range", {{"start", number(call, 0)}, {"limit", limit}, {"delta", number(call, 1)}},
                   Type::tensor(ElementType::int32, {size}));
}

ValueId reordered(WriteCall& call, std::size_t input, const Ints& order) {
  if (std::is_sorted(order.begin(), order.end())) return call.input(input);
  if (const auto stored = call.stored(input)) return call.permuted(*stored, order);
  return transpose(call, call.input(input), order);
}

bool is_real(WriteCall& call, std::size_t input) {
  const ElementType elem = call.elem(input);
  const bool is = elem == ElementType::float16 || elem == ElementType::bfloat16 || elem == ElementType::float32 ||
                  elem == ElementType::float64;
  if (!is) call.refuse(fmt::format("its kernel does not take {}", name_of(elem)), "cast it to float32 before");
  return is;
}

}  // namespace onnxkit::to_tensorflow
