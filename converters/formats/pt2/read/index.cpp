// Elements at positions that tensors give, and their replacement.
#include <algorithm>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

void map_embedding(Call& call) {
  const Val indices = call.tensor("indices");
  call.result(call.onnx.emit("Gather", {call.tensor("weight"), indices}, {{"axis", std::int64_t{0}}}));
}

void map_index_select(Call& call) {
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  call.result(call.onnx.emit("Gather", {x, call.tensor("index")}, {{"axis", axis}}));
}

void map_gather(Call& call) {
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  call.result(call.onnx.emit("GatherElements", {x, call.tensor("index")}, {{"axis", axis}}));
}

void map_scatter(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), index = call.tensor("index");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  Val source = call.has("src") ? call.tensor("src") : Val{};
  if (!source) {
    source = onnx.emit("Expand", {call.number("value", onnx.elem(x)), onnx.emit("Shape", {index})});
  } else {
    // The source may be larger than the index.
    std::vector<std::int64_t> starts(call.rank(index), 0);
    source = onnx.emit("Slice", {source, onnx.integers(starts), onnx.emit("Shape", {index})});
  }
  std::string reduction = call.node.op.find("scatter_add") != std::string_view::npos ? "add" : "none";
  const std::string_view reduce = call.text("reduce");
  if (reduce == "add" || reduce == "sum") reduction = "add";
  if (reduce == "multiply" || reduce == "prod") reduction = "mul";
  if (reduce == "amax") reduction = "max";
  if (reduce == "amin") reduction = "min";
  if (reduce == "mean" || !call.flag("include_self", true)) return call.refuse("this reduction of a scatter");
  call.result(onnx.emit("ScatterElements", {x, index, source}, {{"axis", axis}, {"reduction", reduction}}));
}

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

void map_index(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Positions positions = positions_of(call);
  const std::size_t rank = call.rank(x);
  if (positions.axes.empty()) return call.result(x);
  if (positions.axes.back() >= static_cast<std::int64_t>(rank)) return call.refuse("there are more indices than axes");
  if (positions.axes.size() == 1)
    return call.result(onnx.emit("Gather", {x, positions.indices.front()}, {{"axis", positions.axes.front()}}));
  const Val turned = onnx.transpose(x, indexed_first(positions, rank));
  const Val at = stacked(call, positions);
  const Val gathered = onnx.emit("GatherND", {turned, at});
  const auto index_rank = static_cast<std::int64_t>(call.rank(at)) - 1;
  const auto result_rank = index_rank + static_cast<std::int64_t>(rank - positions.axes.size());
  // Indexed axes that lie beside each other are replaced in their place, others by axes in front.
  if (!positions.is_adjacent) return call.result(gathered);
  call.result(onnx.transpose(gathered, front_to(positions.axes.front(), index_rank, result_rank)));
}

/// The values take the sizes that `x[indices]` would have.
void map_index_put(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Positions positions = positions_of(call);
  const std::size_t rank = call.rank(x);
  if (positions.axes.empty()) return call.refuse("nothing is indexed");
  if (positions.axes.back() >= static_cast<std::int64_t>(rank)) return call.refuse("there are more indices than axes");
  const std::vector<std::int64_t> order = indexed_first(positions, rank);
  const Val at = stacked(call, positions);
  const auto index_rank = static_cast<std::int64_t>(call.rank(at)) - 1;
  const Val turned = onnx.transpose(x, order);
  Val values = onnx.cast(call.tensor("values"), onnx.elem(x));
  const auto result_rank = index_rank + static_cast<std::int64_t>(rank - positions.axes.size());
  // As x[indices] has its axes.
  const Val taken = onnx.emit("GatherND", {turned, at});
  const bool moves = positions.is_adjacent && positions.axes.front() > 0;
  const std::vector<std::int64_t> to_front = front_to(positions.axes.front(), index_rank, result_rank);
  const Val shape = onnx.emit("Shape", {moves ? onnx.transpose(taken, to_front) : taken});
  values = onnx.emit("Expand", {values, shape});
  if (moves) values = onnx.transpose(values, inverse(to_front));
  const std::string reduction = call.flag("accumulate", false) ? "add" : "none";
  const Val scattered = onnx.emit("ScatterND", {turned, at, values}, {{"reduction", reduction}});
  call.result(onnx.transpose(scattered, inverse(order)));
}

/// With an axis in front, rows at the positions of a vector replaced, or added to.
void replace_rows(Call& call, Val rows, const std::string& reduction) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  if (rank == 0) return call.refuse("a number has no axis");
  const std::int64_t axis = call.axis("dim", 0, rank);
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  std::swap(order.front(), order[static_cast<std::size_t>(axis)]);
  const Val turned = onnx.transpose(x, order);
  const Val at = onnx.reshape(onnx.cast(call.tensor("index"), ElementType::int64), {-1, 1});
  if (onnx.rank(rows) == 0) {
    const Val taken = onnx.emit("GatherND", {turned, at});
    rows = onnx.emit("Expand", {onnx.cast(rows, onnx.elem(x)), onnx.emit("Shape", {taken})});
  } else {
    rows = onnx.transpose(rows, order);
  }
  call.result(onnx.transpose(onnx.emit("ScatterND", {turned, at, rows}, {{"reduction", reduction}}), order));
}

void map_index_add(Call& call) {
  Val rows = call.tensor("source");
  if (call.real("alpha", 1) != 1) rows = call.onnx.emit("Mul", {rows, call.number("alpha", call.onnx.elem(rows))});
  replace_rows(call, rows, "add");
}

void map_index_copy(Call& call) { replace_rows(call, call.tensor("source"), "none"); }
void map_index_fill(Call& call) {
  replace_rows(call, call.number("value", call.onnx.elem(call.tensor("self"))), "none");
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
  mappings.add("aten.embedding.default", map_embedding);
  mappings.add("aten.index_select.default", map_index_select);
  mappings.add("aten.gather.default", map_gather);
  mappings.add({"aten.scatter.src", "aten.scatter.value", "aten.scatter.reduce", "aten.scatter.value_reduce",
                "aten.scatter_add.default", "aten.scatter_reduce.two"},
               map_scatter);
  mappings.add("aten.index.Tensor", map_index);
  mappings.add({"aten.index_put.default", "aten._unsafe_index_put.default"}, map_index_put);
  mappings.add("aten.index_add.default", map_index_add);
  mappings.add("aten.index_copy.default", map_index_copy);
  mappings.add({"aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor"}, map_index_fill);
  mappings.add("aten.masked_select.default", map_masked_select);
  mappings.add({"aten.nonzero.default", "aten.argwhere.default"}, map_nonzero);
  mappings.add({"aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar"}, map_where);
  mappings.add({"aten.masked_fill.Scalar", "aten.masked_fill.Tensor"}, map_masked_fill);
  mappings.add("aten.topk.default", map_topk<1>);
  mappings.add({"aten.sort.default", "aten.sort.stable", "aten.argsort.default", "aten.argsort.stable"}, map_sort);
}

}  // namespace onnxkit::pt2
