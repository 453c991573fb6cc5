// Shapes: asked for, changed, and filled.
#include <algorithm>

#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

void map_reshape(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const Val sizes = call.has("shape") ? as_sizes(call, "shape") : onnx.integers(call.integers("new_shape"));
  const auto known = onnx.constant_integers(sizes);
  const bool has_zero = known && std::find(known->begin(), known->end(), 0) != known->end();
  give(call, onnx.emit("Reshape", {x, sizes},
                       has_zero ? std::vector<ir::Attr>{{"allowzero", std::int64_t{1}}} : std::vector<ir::Attr>{}));
}

void map_shape(Call& call) { give(call, call.onnx.emit("Shape", {call.tensor("x")})); }

void map_rank(Call& call) {
  auto& onnx = call.onnx;
  give(call, onnx.scalar_integer(ElementType::int64, static_cast<std::int64_t>(call.rank(call.tensor("x")))));
}

void map_expand_dims(Call& call) {
  auto& onnx = call.onnx;
  const auto axis = onnx.constant_integers(call.tensor("axis"));
  if (!axis || axis->size() != 1) return call.refuse("its axis is not constant");
  give(call, onnx.unsqueeze(movable(call, "x"), *axis));
}

void map_squeeze(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const std::vector<std::int64_t> axes = call.integers("squeeze_dims");
  give(call, axes.empty() ? onnx.emit("Squeeze", {x}) : onnx.squeeze(x, axes));
}

void map_transpose(Call& call) {
  auto& onnx = call.onnx;
  const auto permutation = onnx.constant_integers(call.tensor("permutation"));
  if (!permutation) return call.refuse("its permutation is not constant");
  give(call, onnx.transpose(movable(call, "x"), *permutation));
}

void map_fill(Call& call) {
  auto& onnx = call.onnx;
  give(call, onnx.emit("Expand", {movable(call, "value"), as_sizes(call, "dims")}));
}

void map_zeros_like(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x");
  give(call, onnx.emit("Expand", {onnx.scalar(onnx.elem(x), 0), onnx.emit("Shape", {x})}));
}

void map_range(Call& call) {
  const Val start = real(call, "start"), limit = real(call, "limit"), delta = real(call, "delta");
  give(call, call.onnx.emit("Range", {start, limit, delta}));
}

/// Expand lets an axis of one element on either side grow, which is more than BROADCAST_TO asks for.
void map_broadcast_to(Call& call) {
  give(call, call.onnx.emit("Expand", {movable(call, "x"), as_sizes(call, "shape")}));
}

void map_broadcast_args(Call& call) {
  auto& onnx = call.onnx;
  const Val one = onnx.scalar(ElementType::float32, 0);
  const Val x = onnx.emit("Expand", {one, as_sizes(call, "x")}), y = onnx.emit("Expand", {one, as_sizes(call, "y")});
  give(call, onnx.emit("Shape", {onnx.emit("Add", {x, y})}));
}

void map_tile(Call& call) { give(call, call.onnx.emit("Tile", {movable(call, "x"), as_sizes(call, "multiples")})); }

void map_one_hot(Call& call) {
  auto& onnx = call.onnx;
  const Val off = real(call, "off_value"), on = real(call, "on_value");
  const Val values = onnx.emit("Concat", {onnx.reshape(off, {1}), onnx.reshape(on, {1})}, {{"axis", std::int64_t{0}}});
  give(call, onnx.emit("OneHot", {call.tensor("indices"), as_sizes(call, "depth"), values},
                       {{"axis", call.integer("axis", 0)}}));
}

}  // namespace

void register_shape(Mappings& mappings);
void register_shape(Mappings& mappings) {
  mappings.add("RESHAPE", {"x", "shape"}, map_reshape);
  mappings.add("SHAPE", {"x"}, map_shape);
  mappings.add("RANK", {"x"}, map_rank);
  mappings.add("EXPAND_DIMS", {"x", "axis"}, map_expand_dims);
  mappings.add("SQUEEZE", {"x"}, map_squeeze);
  mappings.add("TRANSPOSE", {"x", "permutation"}, map_transpose);
  mappings.add("FILL", {"dims", "value"}, map_fill);
  mappings.add("ZEROS_LIKE", {"x"}, map_zeros_like);
  mappings.add("RANGE", {"start", "limit", "delta"}, map_range);
  mappings.add("BROADCAST_TO", {"x", "shape"}, map_broadcast_to);
  mappings.add("BROADCAST_ARGS", {"x", "y"}, map_broadcast_args);
  mappings.add("TILE", {"x", "multiples"}, map_tile);
  mappings.add("ONE_HOT", {"indices", "depth", "on_value", "off_value"}, map_one_hot);
}

}  // namespace onnxkit::tflite
