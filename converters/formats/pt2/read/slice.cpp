// Parts of tensors along an axis, and their replacement.
#include <limits>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

struct Range {
  std::int64_t axis = 0;
  Val start, end, step;
  bool is_all = false;
};

bool is_constant(Call& call, Val size, std::int64_t value) {
  const auto known = call.onnx.constant_integers(size);
  return known && *known == std::vector{value};
}

Range range_of(Call& call, std::size_t rank) {
  Range range;
  range.axis = call.axis("dim", 0, rank);
  range.start = call.size("start", 0);
  range.end = call.size("end", to_the_end);
  range.step = call.size("step", 1);
  range.is_all =
      is_constant(call, range.start, 0) && is_constant(call, range.end, to_the_end) && is_constant(call, range.step, 1);
  return range;
}

Val sliced(Call& call, Val x, const Range& range) {
  return call.onnx.emit("Slice", {x, range.start, range.end, call.onnx.integers({range.axis}), range.step});
}

void map_slice(Call& call) {
  const Val x = call.tensor("self");
  const Range range = range_of(call, call.rank(x));
  call.result(range.is_all ? x : sliced(call, x, range));
}

void map_narrow(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  const Val given = call.size("start", 0), size = onnx.size_of(x, axis);
  const auto known = onnx.constant_integers(given);
  Val start = given;
  // Counted from the end; where a program computes the place, a tensor says so.
  const bool is_counted_back = known && known->size() == 1 && known->front() < 0;
  if (is_counted_back) start = onnx.emit("Add", {given, size});
  if (!known && call.node.op == "aten.narrow.Tensor")
    start =
        onnx.emit("Where", {onnx.emit("Less", {given, onnx.integers({0})}), onnx.emit("Add", {given, size}), given});
  const Val end = onnx.emit("Add", {start, call.size("length", 0)});
  call.result(onnx.emit("Slice", {x, start, end, onnx.integers({axis})}));
}

/// An index as a scalar, so that Gather takes the axis away.
Val scalar_index(Call& call, std::string_view name) {
  const foreign::Argument* given = call.argument(name);
  if (given && given->as<std::int64_t>())
    return call.onnx.scalar_integer(ElementType::int64, *given->as<std::int64_t>());
  return call.onnx.squeeze(call.size(name, 0), {0});
}

void map_select(Call& call) {
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  call.result(call.onnx.emit("Gather", {x, scalar_index(call, "index")}, {{"axis", axis}}));
}

/// The positions 0, 1, 2 ... along an axis of x.
Val positions(Call& call, Val x, std::int64_t axis) {
  auto& onnx = call.onnx;
  const Val zero = onnx.scalar_integer(ElementType::int64, 0), one = onnx.scalar_integer(ElementType::int64, 1);
  return onnx.emit("Range", {zero, onnx.squeeze(onnx.size_of(x, axis), {0}), one});
}

/// x with the part at these positions of an axis replaced by `source`.
Val scattered(Call& call, Val x, Val source, Val at, std::int64_t axis) {
  auto& onnx = call.onnx;
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < call.rank(x); ++i) order.push_back(static_cast<std::int64_t>(i));
  if (order.empty()) {
    call.refuse("a scalar has no axis to write along");
    return x;
  }
  std::swap(order.front(), order[static_cast<std::size_t>(axis)]);
  const Val turned =
      onnx.emit("ScatterND", {onnx.transpose(x, order), onnx.unsqueeze(at, {1}), onnx.transpose(source, order)});
  return onnx.transpose(turned, order);
}

void map_slice_scatter(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Range range = range_of(call, call.rank(x));
  const Val source = onnx.cast(call.tensor("src"), onnx.elem(x));
  if (range.is_all) return call.result(source);
  Range along{range};
  along.axis = 0;
  const Val at = sliced(call, positions(call, x, range.axis), along);
  call.result(scattered(call, x, source, at, range.axis));
}

void map_select_scatter(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  const Val source = onnx.unsqueeze(onnx.cast(call.tensor("src"), onnx.elem(x)), {axis});
  // Reshape: an index that is a scalar becomes a vector of one.
  call.result(scattered(call, x, source, call.size("index", 0), axis));
}

/// Parts of the same size, of which the last may be smaller.
void map_split(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  const std::int64_t part = call.integer("split_size", 1);
  const auto parts = static_cast<std::int64_t>(call.node.outputs.size());
  const auto size = onnx.size(x, static_cast<std::size_t>(axis));
  if (!size) return call.refuse("the size of the axis that is split is not known");
  const auto before_last = checked_mul(part, parts - 1);
  if (part < 1 || !before_last || *before_last > *size) return call.refuse("the parts do not fit the axis");
  std::vector<std::int64_t> sizes(call.node.outputs.size(), part);
  sizes.back() = *size - *before_last;
  call.results(onnx.emit_many(sizes.size(), "Split", {x, onnx.integers(sizes)}, {{"axis", axis}}));
}

void map_split_with_sizes(Call& call) {
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  const Val sizes = call.sizes(call.has("split_sizes") ? "split_sizes" : "split_size");
  call.results(call.onnx.emit_many(call.node.outputs.size(), "Split", {x, sizes}, {{"axis", axis}}));
}

/// So many parts of the size ceil(n / chunks), of which there may be fewer than asked for.
void map_chunk(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  const std::int64_t chunks = call.integer("chunks", 1);
  const auto size = onnx.size(x, static_cast<std::size_t>(axis));
  const std::size_t parts = call.node.outputs.size();
  if (!size) return call.refuse("the size of the axis that is split is not known");
  if (chunks < 1) return call.refuse("there are no parts");
  const std::int64_t part = *size / chunks + (*size % chunks != 0 ? 1 : 0);
  const auto before_last = checked_mul(part, static_cast<std::int64_t>(parts - 1));
  if (!before_last || *before_last > *size) return call.refuse("the parts do not fit the axis");
  std::vector<std::int64_t> sizes(parts, part);
  sizes.back() = *size - *before_last;
  call.results(onnx.emit_many(parts, "Split", {x, onnx.integers(sizes)}, {{"axis", axis}}));
}

void map_unbind(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  std::vector<Val> parts;
  for (std::size_t i = 0; i < call.node.outputs.size(); ++i) {
    const Val at = onnx.scalar_integer(ElementType::int64, static_cast<std::int64_t>(i));
    parts.push_back(onnx.emit("Gather", {x, at}, {{"axis", axis}}));
  }
  call.results(parts);
}

/// Of the result of putting tensors together.
ElementType common_type(Call& call, const std::vector<Val>& parts) {
  ElementType type = call.declared_elem();
  if (type != ElementType::undefined) return type;
  for (const Val part : parts) type = promoted(type, call.onnx.elem(part));
  return type;
}

void map_cat(Call& call) {
  auto& onnx = call.onnx;
  std::vector<Val> parts = call.tensors("tensors");
  if (parts.empty()) return call.refuse("there is nothing to concatenate");
  // An empty vector takes part in a concatenation of any rank.
  std::erase_if(parts, [&](Val part) { return parts.size() > 1 && onnx.rank(part) == 1 && onnx.size(part, 0) == 0; });
  const ElementType type = common_type(call, parts);
  for (Val& part : parts)
    if (type != ElementType::undefined) part = onnx.cast(part, type);
  const std::int64_t axis = call.axis("dim", 0, call.rank(parts.front()));
  call.result(onnx.emit("Concat", parts, {{"axis", axis}}));
}

/// Rows side by side, rows one below the other, or planes one behind the other: tensors get that many axes at least.
template <std::int64_t least>
void map_stack_along(Call& call) {
  auto& onnx = call.onnx;
  std::vector<Val> parts = call.tensors("tensors");
  if (parts.empty()) return call.refuse("there is nothing to stack");
  const ElementType type = common_type(call, parts);
  std::size_t rank = 0;
  for (Val& part : parts) {
    if (type != ElementType::undefined) part = onnx.cast(part, type);
    if (call.rank(part) == 0) part = onnx.unsqueeze(part, {0});
    if (call.rank(part) == 1 && least > 1) part = onnx.unsqueeze(part, {0});
    if (call.rank(part) == 2 && least > 2) part = onnx.unsqueeze(part, {2});
    rank = call.rank(part);
  }
  const std::int64_t axis = least == 1 ? (rank > 1 ? 1 : 0) : least == 2 ? 0 : 2;
  call.result(onnx.emit("Concat", parts, {{"axis", axis}}));
}

void map_column_stack(Call& call) {
  auto& onnx = call.onnx;
  std::vector<Val> parts = call.tensors("tensors");
  if (parts.empty()) return call.refuse("there is nothing to stack");
  const ElementType type = common_type(call, parts);
  for (Val& part : parts) {
    if (type != ElementType::undefined) part = onnx.cast(part, type);
    if (call.rank(part) < 2) part = onnx.reshape(part, {-1, 1});
  }
  call.result(onnx.emit("Concat", parts, {{"axis", std::int64_t{1}}}));
}

void map_stack(Call& call) {
  auto& onnx = call.onnx;
  std::vector<Val> parts = call.tensors("tensors");
  if (parts.empty()) return call.refuse("there is nothing to stack");
  const std::int64_t axis = call.axis("dim", 0, call.rank(parts.front()) + 1);
  const ElementType type = common_type(call, parts);
  for (Val& part : parts) part = onnx.unsqueeze(type == ElementType::undefined ? part : onnx.cast(part, type), {axis});
  call.result(onnx.emit("Concat", parts, {{"axis", axis}}));
}

}  // namespace

void register_slice(Mappings& mappings);
void register_slice(Mappings& mappings) {
  mappings.add({"aten.slice.Tensor", "aten.slice_copy.Tensor"}, map_slice);
  mappings.add({"aten.narrow.default", "aten.narrow_copy.default", "aten.narrow.Tensor"}, map_narrow);
  mappings.add({"aten.select.int", "aten.select_copy.int"}, map_select);
  mappings.add("aten.slice_scatter.default", map_slice_scatter);
  mappings.add("aten.select_scatter.default", map_select_scatter);
  mappings.add({"aten.split.Tensor", "aten.split_copy.Tensor", "aten.unsafe_split.Tensor"}, map_split);
  mappings.add({"aten.split_with_sizes.default", "aten.split.sizes", "aten.split_with_sizes_copy.default",
                "aten.unsafe_split_with_sizes.default"},
               map_split_with_sizes);
  mappings.add({"aten.chunk.default", "aten.unsafe_chunk.default"}, map_chunk);
  mappings.add({"aten.unbind.int", "aten.unbind_copy.int"}, map_unbind);
  mappings.add("aten.cat.default", map_cat);
  mappings.add("aten.stack.default", map_stack);
  mappings.add("aten.hstack.default", map_stack_along<1>);
  mappings.add("aten.vstack.default", map_stack_along<2>);
  mappings.add("aten.dstack.default", map_stack_along<3>);
  mappings.add("aten.column_stack.default", map_column_stack);
}

}  // namespace onnxkit::pt2
