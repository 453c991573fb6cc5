#include "converters/formats/tflite/emit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "converters/formats/tflite/pair_scales.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tflite {

// ---- constants

ValueId numbers(WriteCall& call, const Ints& values) { return call.integers_tensor(ElementType::int32, values); }

ValueId matrix(WriteCall& call, Ints dims, const Ints& values) {
  return call.once(fmt::format("m{}:{}", fmt::join(dims, ","), fmt::join(values, ",")), [&] {
    std::string bytes(values.size() * sizeof(std::int32_t), '\0');
    encode(ElementType::int32, std::span<const std::int64_t>(values),
           std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
    return call.tensor(ElementType::int32, dims, std::move(bytes));
  });
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
    const auto rank = static_cast<std::int64_t>(rank_of(call, from));
    const ValueId sizes = call.emit("SHAPE", {{"x", from}, {"out_type", ElementType::int32}},
                                    Type::tensor(ElementType::int32, {Dim(rank)}));
    const auto place = static_cast<std::int64_t>(at);
    return call.emit("STRIDED_SLICE",
                     {{"x", sizes},
                      {"begin", numbers(call, {place})},
                      {"end", numbers(call, {place + 1})},
                      {"strides", numbers(call, {1})}},
                     Type::tensor(ElementType::int32, {Dim(1)}));
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

namespace {

/// The reader moves scales by some units in the last place, so that sums round as the runtime's do: far less than a step over all integers.
bool is_same_but_for_rounding(const foreign::Quantization& a, const foreign::Quantization& b) {
  const auto is_close = [](float x, float y) { return std::abs(x - y) <= std::abs(x) / (1 << 14); };
  return a.zero_points == b.zero_points && a.axis == b.axis && a.scales.size() == b.scales.size() &&
         std::equal(a.scales.begin(), a.scales.end(), b.scales.begin(), is_close);
}

/// The reader notes the scale that stored integers had in their file.
void restore_scale(const ir::Node& node, foreign::Quantization& quantization) {
  for (const ir::StringEntry& entry : node.metadata_props) {
    if (entry.key != tflite::given_scale_key || quantization.is_per_axis()) continue;
    foreign::Quantization given = quantization;
    const std::string_view text = entry.value.view();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), given.scales.front());
    if (error == std::errc() && end == text.data() + text.size() && is_same_but_for_rounding(given, quantization))
      quantization = given;
  }
}

}  // namespace

std::optional<foreign::Quantization> quantization_from(WriteCall& call, const WriteCall& parameters,
                                                       std::int64_t axis) {
  const auto scales = constant_reals(parameters, 1);
  const auto zero_points = parameters.has(2) ? constant_integers(parameters, 2) : std::nullopt;
  if (!scales || scales->empty() || (parameters.has(2) && !zero_points)) {
    call.refuse("its scale and zero point are not constant");
    return std::nullopt;
  }
  foreign::Quantization made;
  for (const double scale : *scales) made.scales.push_back(static_cast<float>(scale));
  made.zero_points = zero_points.value_or(Ints(scales->size(), 0));
  made.axis = scales->size() > 1 ? axis : 0;
  if (made.zero_points.size() != made.scales.size()) {
    call.refuse("it has another number of scales than of zero points");
    return std::nullopt;
  }
  restore_scale(parameters.node, made);
  return made;
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
  return call.emit("SELECT_V2", {{"condition", condition}, {"x", a}, {"y", b}}, std::move(type));
}

ValueId cast(WriteCall& call, ValueId x, ElementType elem) {
  const ElementType from = call.type_of(x).elem;
  if (from == elem) return x;
  return call.emit("CAST", {{"x", x}, {"in_data_type", from}, {"out_data_type", elem}},
                   with_elem(call.type_of(x), elem));
}

ValueId transpose(WriteCall& call, ValueId x, const Ints& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  const Type& type = call.type_of(x);
  Type moved = Type::tensor(type.elem);
  if (type.shape && type.shape->size() == order.size()) {
    moved.shape.emplace();
    for (const std::int64_t axis : order) moved.shape->push_back((*type.shape)[static_cast<std::size_t>(axis)]);
  }
  return call.emit("TRANSPOSE", {{"x", x}, {"permutation", numbers(call, order)}}, std::move(moved));
}

ValueId reshape(WriteCall& call, ValueId x, const Shape& shape) {
  const Type& type = call.type_of(x);
  if (type.shape && *type.shape == shape) return x;
  if (shape.empty()) {  // a vector of no sizes would be no constant there; without axes all of one element go
    Ints axes;
    for (std::size_t axis = 0; type.shape && axis < type.shape->size(); ++axis)
      axes.push_back(static_cast<std::int64_t>(axis));
    return call.emit("SQUEEZE", {{"x", x}, {"squeeze_dims", axes}}, with_shape(type, shape));
  }
  Ints sizes;
  std::size_t open = 0;
  bool has_zero = false;
  for (const Dim dim : shape) {
    open += dim.is_constant() ? 0 : 1;
    has_zero = has_zero || dim.is(0);
    sizes.push_back(dim.is_constant() ? dim.constant() : -1);
  }
  if (open > 1 || (open == 1 && has_zero))
    return call.emit("RESHAPE", {{"x", x}, {"shape", sizes_vector(call, shape)}}, with_shape(type, shape));
  return call.emit("RESHAPE", {{"x", x}, {"shape", numbers(call, sizes)}, {"new_shape", sizes}},
                   with_shape(type, shape));
}

ValueId reduce(WriteCall& call, std::string_view op, ValueId x, Ints axes, bool keeps_axes) {
  Type type = Type::tensor(call.type_of(x).elem);
  if (const Type& whole = call.type_of(x); whole.shape) {
    type.shape.emplace();
    for (std::size_t axis = 0; axis < whole.shape->size(); ++axis) {
      const bool goes = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
      if (!goes) type.shape->push_back((*whole.shape)[axis]);
      if (goes && keeps_axes) type.shape->push_back(Dim(1));
    }
  }
  return call.emit(op, {{"x", x}, {"axes", numbers(call, axes)}, {"keep_dims", keeps_axes}}, std::move(type));
}

ValueId concat(WriteCall& call, const std::vector<ValueId>& xs, std::int64_t axis, Type type) {
  if (xs.size() == 1) return xs.front();
  return call.emit("CONCATENATION", {{"xs", xs}, {"axis", axis}}, std::move(type));
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
  if (value == 0) return call.emit("PAD", {{"x", x}, {"paddings", paddings}}, std::move(type));
  const ValueId filling = call.scalar(type.elem, value);
  return call.emit("PADV2", {{"x", x}, {"paddings", paddings}, {"value", filling}}, std::move(type));
}

ValueId part(WriteCall& call, ValueId x, const Ints& begins, const std::vector<std::optional<std::int64_t>>& ends,
             const Ints& strides, Type type) {
  std::int64_t end_mask = 0;
  Ints last;
  for (std::size_t axis = 0; axis < ends.size(); ++axis) {
    if (!ends[axis]) end_mask |= std::int64_t{1} << axis;
    last.push_back(ends[axis].value_or(0));
  }
  return call.emit("STRIDED_SLICE",
                   {{"x", x},
                    {"begin", numbers(call, begins)},
                    {"end", numbers(call, last)},
                    {"strides", numbers(call, strides)},
                    {"end_mask", end_mask}},
                   std::move(type));
}

namespace {

/// That of the integers which other nodes moved before they came to this one: kernels want the same on both sides.
std::optional<foreign::Quantization> quantization_before_moves(const WriteCall& call, int most_nodes = 64) {
  std::optional<WriteCall> mover = call.producer(0);
  if (!mover || most_nodes == 0 || !mover->has(0) || mover->elem(0) != call.elem(0)) return std::nullopt;
  if (const foreign::Quantization* known = mover->quantization_of(mover->input(0))) return *known;
  return quantization_before_moves(*mover, most_nodes - 1);
}

}  // namespace

ValueId dequantize(WriteCall& call, const WriteCall& parameters, ValueId integers, std::int64_t axis) {
  const auto quantization = quantization_from(call, parameters, axis);
  if (!quantization) return integers;
  if (!call.quantization_of(integers) && call.node.op_type == "DequantizeLinear")
    if (const auto moved = quantization_before_moves(call); moved && is_same_but_for_rounding(*moved, *quantization))
      call.set_quantization(integers, *moved);
  const foreign::Quantization* known = call.quantization_of(integers);
  if (known && !is_same_but_for_rounding(*known, *quantization)) {
    const auto stored = call.node.op_type == "DequantizeLinear" ? call.stored(0) : std::nullopt;
    if (!stored) {
      call.refuse("its integers stand for other numbers elsewhere");
      return integers;
    }
    Ints order(stored->dims.size());
    std::iota(order.begin(), order.end(), 0);
    integers = call.permuted_when_written(*stored, order);  // a tensor of its own
    known = nullptr;
  }
  if (!known) call.set_quantization(integers, *quantization);
  return call.emit("DEQUANTIZE", {{"x", integers}}, with_elem(call.type_of(integers), ElementType::float32));
}

ValueId reordered(WriteCall& call, std::size_t input, const Ints& order) {
  if (std::is_sorted(order.begin(), order.end())) return call.input(input);
  if (const auto stored = call.stored(input)) return call.permuted_when_written(*stored, order);
  const auto producer = call.producer(input);
  std::optional<foreign::Tensor> integers;
  if (producer && producer->node.op_type == "DequantizeLinear") integers = WriteCall(*producer).stored(0);
  if (!integers) return transpose(call, call.input(input), order);
  const std::int64_t axis = producer->axis("axis", 1, order.size());
  const ValueId moved = call.permuted_when_written(*integers, order);
  return dequantize(call, *producer, moved, std::find(order.begin(), order.end(), axis) - order.begin());
}

}  // namespace onnxkit::to_tflite
