// Elements and rows that a tensor of indices names.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

void map_embedding(Call& call) {
  const Val indices = call.tensor("indices");
  call.result(call.onnx.emit("Gather", {call.tensor("weight"), indices}, {{"axis", std::int64_t{0}}}));
}

/// The axis stays, also for an index without axes. A number has the index 0.
void map_index_select(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), index = call.tensor("index");
  const std::size_t rank = call.rank(x);
  if (rank == 0) return call.result(x);
  const Val at = call.rank(index) == 0 ? onnx.reshape(index, {1}) : index;
  call.result(onnx.emit("Gather", {x, at}, {{"axis", call.axis("dim", 0, rank)}}));
}

void map_gather(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  Val index = call.tensor("index");
  // An empty index may have any type and rank.
  if (onnx.element_count(index) == 0) return call.result(onnx.cast(index, onnx.elem(x)));
  const std::size_t rank = call.rank(x);
  // A number has the index 0, however often it is taken.
  if (rank == 0) return call.result(onnx.emit("Expand", {x, onnx.emit("Shape", {index})}));
  const bool is_number = call.rank(index) == 0;
  if (is_number) index = onnx.reshape(index, {1});
  const Val taken = onnx.emit("GatherElements", {x, index}, {{"axis", call.axis("dim", 0, rank)}});
  call.result(is_number ? onnx.squeeze(taken, {0}) : taken);
}

/// Of all elements, row by row.
void map_take(Call& call) {
  auto& onnx = call.onnx;
  const Val all = onnx.reshape(call.tensor("self"), {-1});
  call.result(onnx.emit("Gather", {all, call.tensor("index")}, {{"axis", std::int64_t{0}}}));
}

/// Sizes of x, but 1 along the axis: what another tensor is broadcast to beside it.
Val sizes_but_one(Call& call, Val x, std::int64_t axis) {
  std::vector<Val> sizes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(call.rank(x)); ++i)
    sizes.push_back(i == axis ? call.onnx.integers({1}) : call.onnx.size_of(x, i));
  return call.onnx.joined(sizes);
}

/// Both are broadcast along the other axes; without an axis both are vectors.
void map_take_along(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self"), index = call.tensor("indices");
  if (!call.has("dim")) {
    x = onnx.reshape(x, {-1});
    index = onnx.reshape(index, {-1});
  }
  const std::size_t rank = call.rank(x);
  const std::int64_t axis = call.axis("dim", 0, rank);
  if (rank != call.rank(index)) return call.refuse("indices of another rank");
  const foreign::Shape *const sizes = onnx.shape(x), *const taken = onnx.shape(index);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i == axis || (*sizes)[at] == (*taken)[at]) continue;
    const Val of_index = sizes_but_one(call, index, axis), of_x = sizes_but_one(call, x, axis);
    x = onnx.emit("Expand", {x, of_index});
    index = onnx.emit("Expand", {index, of_x});
    break;
  }
  call.result(onnx.emit("GatherElements", {x, index}, {{"axis", axis}}));
}

}  // namespace

void register_gather(Mappings& mappings);
void register_gather(Mappings& mappings) {
  mappings.add("aten.embedding.default", map_embedding);
  mappings.add("aten.index_select.default", map_index_select);
  mappings.add("aten.gather.default", map_gather);
  mappings.add("aten.take.default", map_take);
  mappings.add("aten.take_along_dim.default", map_take_along);
}

}  // namespace onnxkit::pt2
