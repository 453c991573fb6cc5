// Elements at positions that tensors give, their replacement, and their order.
#include <algorithm>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// Positions along some axes of a tensor, brought into the form that GatherND and ScatterND take.
struct Positions {
  std::vector<std::int64_t> axes;  ///< that are indexed, in order
  std::vector<Val> indices;        ///< one for each, int64
  bool is_adjacent = true;
};

/// A mask stands for the positions of its true elements, along as many axes as it has.
void add_mask(Call& call, Val mask, std::int64_t axis, Positions& positions) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(mask);
  const Val places = onnx.emit("NonZero", {mask});
  for (std::size_t i = 0; i < rank; ++i) {
    positions.axes.push_back(axis + static_cast<std::int64_t>(i));
    const Val row = onnx.scalar_integer(ElementType::int64, static_cast<std::int64_t>(i));
    positions.indices.push_back(onnx.emit("Gather", {places, row}, {{"axis", std::int64_t{0}}}));
  }
}

Positions positions_of(Call& call) {
  auto& onnx = call.onnx;
  Positions positions;
  std::int64_t axis = 0;
  for (const Val index : call.tensors("indices")) {
    if (!index) {
      ++axis;
    } else if (onnx.elem(index) == ElementType::boolean || onnx.elem(index) == ElementType::uint8) {
      add_mask(call, index, axis, positions);
      axis += static_cast<std::int64_t>(call.rank(index));
    } else {
      positions.axes.push_back(axis++);
      positions.indices.push_back(onnx.cast(index, ElementType::int64));
    }
  }
  for (std::size_t i = 1; i < positions.axes.size(); ++i)
    positions.is_adjacent = positions.is_adjacent && positions.axes[i] == positions.axes[i - 1] + 1;
  return positions;
}

/// The indices as one tensor whose last axis has a position along each indexed axis.
Val stacked(Call& call, const Positions& positions) {
  auto& onnx = call.onnx;
  Val all = positions.indices.front();
  for (std::size_t i = 1; i < positions.indices.size(); ++i) all = onnx.emit("Add", {all, positions.indices[i]});
  std::vector<Val> parts;
  for (const Val index : positions.indices) {
    const bool is_whole = positions.indices.size() == 1;
    const Val whole = is_whole ? index : onnx.emit("Expand", {index, onnx.emit("Shape", {all})});
    parts.push_back(onnx.unsqueeze(whole, {-1}));
  }
  return parts.size() == 1 ? parts.front() : onnx.emit("Concat", parts, {{"axis", std::int64_t{-1}}});
}

/// The axes with those that are indexed in front.
std::vector<std::int64_t> indexed_first(const Positions& positions, std::size_t rank) {
  std::vector<std::int64_t> order = positions.axes;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis)
    if (std::find(positions.axes.begin(), positions.axes.end(), axis) == positions.axes.end()) order.push_back(axis);
  return order;
}

/// What moves `count` axes from the front to place `first`.
std::vector<std::int64_t> front_to(std::int64_t first, std::int64_t count, std::int64_t rank) {
  std::vector<std::int64_t> order;
  for (std::int64_t axis = 0; axis < first; ++axis) order.push_back(count + axis);
  for (std::int64_t axis = 0; axis < count; ++axis) order.push_back(axis);
  for (std::int64_t axis = first + count; axis < rank; ++axis) order.push_back(axis);
  return order;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return back;
}

Val indexed(Call& call, Val x, const Positions& positions) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(x);
  if (positions.axes.empty()) return x;
  if (positions.axes.back() >= static_cast<std::int64_t>(rank)) {
    call.refuse("there are more indices than axes");
    return x;
  }
  if (positions.axes.size() == 1)
    return onnx.emit("Gather", {x, positions.indices.front()}, {{"axis", positions.axes.front()}});
  const Val turned = onnx.transpose(x, indexed_first(positions, rank));
  const Val at = stacked(call, positions);
  const Val gathered = onnx.emit("GatherND", {turned, at});
  const auto index_rank = static_cast<std::int64_t>(call.rank(at)) - 1;
  const auto result_rank = index_rank + static_cast<std::int64_t>(rank - positions.axes.size());
  // Indexed axes that lie beside each other are replaced in their place, others by axes in front.
  if (!positions.is_adjacent) return gathered;
  return onnx.transpose(gathered, front_to(positions.axes.front(), index_rank, result_rank));
}

void map_index(Call& call) { call.result(indexed(call, call.tensor("self"), positions_of(call))); }

/// The values take the sizes that `x[indices]` would have.
void put(Call& call, Val x, const Positions& positions, Val values, bool adds) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(x);
  if (positions.axes.empty()) return call.refuse("nothing is indexed");
  if (positions.axes.back() >= static_cast<std::int64_t>(rank)) return call.refuse("there are more indices than axes");
  const std::vector<std::int64_t> order = indexed_first(positions, rank);
  const Val at = stacked(call, positions);
  const auto index_rank = static_cast<std::int64_t>(call.rank(at)) - 1;
  const Val turned = onnx.transpose(x, order);
  values = onnx.cast(values, onnx.elem(x));
  const auto result_rank = index_rank + static_cast<std::int64_t>(rank - positions.axes.size());
  // As x[indices] has its axes.
  const Val taken = onnx.emit("GatherND", {turned, at});
  const bool moves = positions.is_adjacent && positions.axes.front() > 0;
  const std::vector<std::int64_t> to_front = front_to(positions.axes.front(), index_rank, result_rank);
  const Val shape = onnx.emit("Shape", {moves ? onnx.transpose(taken, to_front) : taken});
  values = onnx.emit("Expand", {values, shape});
  if (moves) values = onnx.transpose(values, inverse(to_front));
  const std::string reduction = adds ? "add" : "none";
  const Val scattered = onnx.emit("ScatterND", {turned, at, values}, {{"reduction", reduction}});
  call.result(onnx.transpose(scattered, inverse(order)));
}

void map_index_put(Call& call) {
  put(call, call.tensor("self"), positions_of(call), call.tensor("values"), call.flag("accumulate", false));
}

/// Indices outside of the axis become the nearest inside.
void keep_inside(Call& call, Val x, Positions& positions) {
  auto& onnx = call.onnx;
  for (std::size_t i = 0; i < positions.indices.size(); ++i) {
    const Val size = onnx.squeeze(onnx.size_of(x, positions.axes[i]), {0});
    const Val last = onnx.emit("Sub", {size, onnx.scalar_integer(ElementType::int64, 1)});
    const Val first = onnx.emit("Neg", {size});
    positions.indices[i] = onnx.emit("Max", {onnx.emit("Min", {positions.indices[i], last}), first});
  }
}

/// x[indices] where the mask is true, `fill` elsewhere. Indices may be outside of x there.
void map_masked_index(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  Positions positions = positions_of(call);
  if (call.refused() || onnx.element_count(x) == 0) return call.refuse("an index of nothing");
  keep_inside(call, x, positions);
  const Val taken = indexed(call, x, positions);
  if (call.refused()) return;
  call.result(onnx.emit("Where", {call.tensor("mask"), taken, call.number("fill", onnx.elem(x))}));
}

/// Adds values to x at these indices where the mask is true.
void map_masked_index_put(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), values = call.tensor("values");
  Positions positions = positions_of(call);
  if (call.refused() || onnx.element_count(x) == 0) return call.refuse("an index of nothing");
  keep_inside(call, x, positions);
  const Val added = onnx.emit("Where", {call.tensor("mask"), values, onnx.scalar(onnx.elem(values), 0)});
  put(call, x, positions, added, true);
}

/// The elements where the mask is true, after both are broadcast.
void map_masked_select(Call& call) {
  auto& onnx = call.onnx;
  const Val mask = call.tensor("mask"), x = call.tensor("self");
  const Val whole = onnx.emit("Where", {mask, x, x});
  const Val chosen = onnx.emit("Expand", {mask, onnx.emit("Shape", {whole})});
  call.result(
      onnx.emit("Compress", {onnx.reshape(whole, {-1}), onnx.reshape(chosen, {-1})}, {{"axis", std::int64_t{0}}}));
}

void map_nonzero(Call& call) {
  call.result(call.onnx.transpose(call.onnx.emit("NonZero", {call.tensor("self")}), {1, 0}));
}

void map_where(Call& call) {
  auto& onnx = call.onnx;
  ElementType type = call.declared_elem();
  if (type == ElementType::undefined) type = promoted(call, "self", "other");
  call.result(onnx.emit("Where", {onnx.cast(call.tensor("condition"), ElementType::boolean), call.number("self", type),
                                  call.number("other", type)}));
}

void map_masked_fill(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Val mask = onnx.cast(call.tensor("mask"), ElementType::boolean);
  const foreign::Argument* value = call.argument("value");
  // Runtimes lack Where of truth values.
  if (onnx.elem(x) == ElementType::boolean && value && !value->as<foreign::ValueId>())
    return call.result(call.real("value", 0) != 0 ? onnx.emit("Or", {x, mask})
                                                  : onnx.emit("And", {x, onnx.emit("Not", {mask})}));
  call.result(onnx.emit("Where", {mask, call.number("value", onnx.elem(x)), x}));
}

template <std::int64_t fallback_largest>
void map_topk(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", -1, call.rank(x));
  const std::int64_t largest = call.flag("largest", fallback_largest == 1) ? 1 : 0;
  call.results(onnx.emit_many(2, "TopK", {x, call.size("k", 1)},
                              {{"axis", axis}, {"largest", largest}, {"sorted", std::int64_t{1}}}));
}

void map_sort(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", -1, call.rank(x));
  const std::int64_t descending = call.flag("descending", false) ? 1 : 0;
  const auto sorted = onnx.emit_many(2, "TopK", {x, onnx.size_of(x, axis)}, {{"axis", axis}, {"largest", descending}});
  if (call.node.op.starts_with("aten.argsort")) return call.result(sorted[1]);
  call.results(sorted);
}

}  // namespace

void register_index(Mappings& mappings);
void register_index(Mappings& mappings) {
  mappings.add("aten.index.Tensor", map_index);
  mappings.add({"aten.index_put.default", "aten._unsafe_index_put.default"}, map_index_put);
  mappings.add("aten._unsafe_masked_index.default", map_masked_index);
  mappings.add("aten._unsafe_masked_index_put_accumulate.default", map_masked_index_put);
  mappings.add("aten.masked_select.default", map_masked_select);
  mappings.add({"aten.nonzero.default", "aten.argwhere.default"}, map_nonzero);
  mappings.add({"aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar"}, map_where);
  mappings.add({"aten.masked_fill.Scalar", "aten.masked_fill.Tensor"}, map_masked_fill);
  mappings.add("aten.topk.default", map_topk<1>);
  mappings.add({"aten.sort.default", "aten.sort.stable", "aten.argsort.default", "aten.argsort.stable"}, map_sort);
}

}  // namespace onnxkit::pt2
