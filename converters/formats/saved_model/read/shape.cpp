// Shapes: asked for, changed, and filled.
#include <algorithm>

#include <limits>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

/// A constant of one value that is too large to be written out.
void map_constant(Call& call) {
  auto& onnx = call.onnx;
  if (!call.has("dims")) return call.refuse("it holds text, or an element type that ONNX does not have");
  call.result(onnx.emit("Expand", {call.tensor("value"), onnx.integers(call.integers("dims"))}));
}
void map_shape(Call& call) {
  auto& onnx = call.onnx;
  const ElementType type = call.elem("out_type", ElementType::int32);
  call.result(onnx.cast(onnx.emit("Shape", {call.tensor("input")}), type));
}
void map_shapes(Call& call) {
  auto& onnx = call.onnx;
  const ElementType type = call.elem("out_type", ElementType::int32);
  std::vector<Val> shapes;
  for (const Val input : call.tensors("input")) shapes.push_back(onnx.cast(onnx.emit("Shape", {input}), type));
  call.results(shapes);
}
void map_size(Call& call) {
  auto& onnx = call.onnx;
  call.result(onnx.cast(onnx.emit("Size", {call.tensor("input")}), call.elem("out_type", ElementType::int32)));
}
void map_rank(Call& call) {
  const std::size_t rank = call.rank(call.tensor("input"));
  call.result(call.onnx.scalar_integer(ElementType::int32, static_cast<std::int64_t>(rank)));
}

void map_reshape(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("tensor"), sizes = as_sizes(call, "shape");
  const auto known = onnx.constant_integers(sizes);
  const bool has_zero = !known || std::find(known->begin(), known->end(), 0) != known->end();
  const bool may_copy = known && has_zero;
  call.result(onnx.emit("Reshape", {x, sizes},
                        may_copy ? std::vector<ir::Attr>{{"allowzero", std::int64_t{1}}} : std::vector<ir::Attr>{}));
}

void map_expand_dims(Call& call) {
  const Val x = call.tensor("input");
  const std::int64_t axis = known_axis(call, "dim", call.rank(x) + 1);
  call.result(call.onnx.unsqueeze(x, {axis}));
}

void map_squeeze(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  const std::vector<std::int64_t> axes = call.integers("squeeze_dims");
  call.result(axes.empty() ? onnx.emit("Squeeze", {x}) : onnx.squeeze(x, axes));
}

void map_transpose(Call& call) { call.result(call.onnx.transpose(call.tensor("x"), known_integers(call, "perm"))); }

void map_fill(Call& call) {
  const Val sizes = as_sizes(call, "dims");
  call.result(call.onnx.emit("Expand", {call.tensor("value"), sizes}));
}

void map_filled_like(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x");
  const double value = call.node.op == "OnesLike" ? 1 : 0;
  call.result(onnx.emit("Expand", {onnx.scalar(onnx.elem(x), value), onnx.emit("Shape", {x})}));
}

void map_range(Call& call) {
  const Val start = call.tensor("start"), limit = call.tensor("limit"), delta = call.tensor("delta");
  call.result(call.onnx.emit("Range", {start, limit, delta}));
}

/// Steps from start to stop, of which there is one less than numbers.
void map_linspace(Call& call) {
  auto& onnx = call.onnx;
  const Val start = call.tensor("start"), stop = call.tensor("stop");
  const std::vector<std::int64_t> count = known_integers(call, "num");
  if (count.size() != 1 || count.front() < 1) return call.refuse("its number of results is not constant and positive");
  const ElementType type = onnx.elem(start);
  if (count.front() == 1) return call.result(onnx.reshape(start, {1}));
  const Val places = onnx.cast(
      onnx.emit("Range", {onnx.scalar(ElementType::int64, 0), onnx.scalar_integer(ElementType::int64, count.front()),
                          onnx.scalar_integer(ElementType::int64, 1)}),
      type);
  const Val step =
      onnx.emit("Div", {onnx.emit("Sub", {stop, start}), onnx.scalar(type, static_cast<double>(count.front() - 1))});
  call.result(onnx.emit("Add", {start, onnx.emit("Mul", {places, step})}));
}

/// Expand lets an axis of one element on either side grow, which is more than BroadcastTo asks for.
void map_broadcast_to(Call& call) {
  const Val sizes = as_sizes(call, "shape");
  call.result(call.onnx.emit("Expand", {call.tensor("input"), sizes}));
}

void map_broadcast_args(Call& call) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(call.tensor("s0"));
  const Val zero = onnx.scalar(ElementType::float32, 0);
  const Val x = onnx.emit("Expand", {zero, as_sizes(call, "s0")}),
            y = onnx.emit("Expand", {zero, as_sizes(call, "s1")});
  call.result(onnx.cast(onnx.emit("Shape", {onnx.emit("Add", {x, y})}), type));
}

void map_tile(Call& call) {
  const Val multiples = as_sizes(call, "multiples");
  call.result(call.onnx.emit("Tile", {call.tensor("input"), multiples}));
}

void map_one_hot(Call& call) {
  auto& onnx = call.onnx;
  const Val off = call.tensor("off_value"), on = call.tensor("on_value"), depth = as_sizes(call, "depth");
  const Val values = onnx.emit("Concat", {onnx.reshape(off, {1}), onnx.reshape(on, {1})}, {{"axis", std::int64_t{0}}});
  const Val indices = call.tensor("indices");
  // ONNX counts negative indices from the end; here they are nowhere, as those from the depth on.
  const Val nowhere = onnx.cast(depth, onnx.elem(indices));
  const Val is_negative = onnx.emit("Less", {indices, onnx.scalar(onnx.elem(indices), 0)});
  const Val places =
      onnx.elem(indices) == ElementType::uint8 ? indices : onnx.emit("Where", {is_negative, nowhere, indices});
  const Val scalar_places = onnx.rank(indices) == 0 ? onnx.reshape(places, std::vector<std::int64_t>()) : places;
  call.result(onnx.emit("OneHot", {scalar_places, depth, values}, {{"axis", call.integer("axis", -1)}}));
}

/// A matrix without what lies further than `width` beside its diagonal, on one side.
Val cut_band(Call& call, Val x, std::string_view width, bool is_upper) {
  auto& onnx = call.onnx;
  const Val given = call.tensor(width);
  const std::vector<ir::Attr> side = {{"upper", std::int64_t{is_upper ? 0 : 1}}};
  if (const auto known = onnx.constant_integers(given)) {
    if (known->size() != 1) call.refuse("its bands are not single numbers");
    if (call.refused() || known->front() < 0) return x;
    const std::int64_t diagonal = is_upper ? known->front() : -known->front();
    return onnx.emit("Trilu", {x, onnx.scalar_integer(ElementType::int64, diagonal)}, side);
  }
  // A computed width may be negative, too.
  const Val number = onnx.reshape(onnx.cast(given, ElementType::int64), std::vector<std::int64_t>());
  const auto integer = [&](std::int64_t value) { return onnx.scalar_integer(ElementType::int64, value); };
  const Val is_all = onnx.emit("Less", {number, integer(0)});
  const Val kept = onnx.emit("Where", {is_all, integer(std::numeric_limits<std::int32_t>::max()), number});
  return onnx.emit("Trilu", {x, is_upper ? kept : onnx.emit("Neg", {kept})}, side);
}

/// Keeps the diagonal and bands beside it; a negative number keeps all on its side.
void map_band_part(Call& call) {
  const Val upper = cut_band(call, call.tensor("input"), "num_upper", true);
  call.result(cut_band(call, upper, "num_lower", false));
}

}  // namespace

void register_shape(Mappings& mappings);
void register_shape(Mappings& mappings) {
  mappings.add_passing({"Identity", "IdentityN", "StopGradient", "PreventGradient", "Snapshot", "ReadVariableOp",
                        "EnsureShape", "CheckNumerics", "PlaceholderWithDefault", "DebugIdentity", "DebugIdentityV2"});
  mappings.add("Const", {}, map_constant);
  mappings.add("Shape", {"input"}, map_shape);
  mappings.add("ShapeN", {"input..."}, map_shapes);
  mappings.add("Size", {"input"}, map_size);
  mappings.add("Rank", {"input"}, map_rank);
  mappings.add("Reshape", {"tensor", "shape"}, map_reshape);
  mappings.add("ExpandDims", {"input", "dim"}, map_expand_dims);
  mappings.add("Squeeze", {"input"}, map_squeeze);
  mappings.add("Transpose", {"x", "perm"}, map_transpose);
  mappings.add("Fill", {"dims", "value"}, map_fill);
  mappings.add_all({"ZerosLike", "OnesLike"}, {"x"}, map_filled_like);
  mappings.add("Range", {"start", "limit", "delta"}, map_range);
  mappings.add("LinSpace", {"start", "stop", "num"}, map_linspace);
  mappings.add("BroadcastTo", {"input", "shape"}, map_broadcast_to);
  mappings.add("BroadcastArgs", {"s0", "s1"}, map_broadcast_args);
  mappings.add("Tile", {"input", "multiples"}, map_tile);
  mappings.add("OneHot", {"indices", "depth", "on_value", "off_value"}, map_one_hot);
  mappings.add("MatrixBandPart", {"input", "num_lower", "num_upper"}, map_band_part);
}

}  // namespace onnxkit::saved_model
