// Parts of values, and values made of parts.
#include "converters/foreign/segments.h"
#include "converters/foreign/slices.h"

#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

void map_strided_slice(Call& call) {
  const Val begin = call.tensor("begin"), end = call.tensor("end"), strides = call.tensor("strides");
  give(call, foreign::strided_slice(call, movable(call, "x"), begin, end, strides, foreign::slice_masks(call)));
}

void map_slice(Call& call) {
  give(call, foreign::slice_of_size(call, movable(call, "x"), call.tensor("begin"), call.tensor("size")));
}

void map_update_slice(Call& call) {
  give(call, foreign::updated_slice(call, movable(call, "x"), movable(call, "update"), call.tensor("starts")));
}

void map_reverse_sequence(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x"), lengths = onnx.cast(call.tensor("lengths"), ElementType::int64);
  const std::int64_t time = call.integer("seq_dim", 0), batch = call.integer("batch_dim", 0);
  if (time > 1 || batch > 1 || time < 0 || batch < 0) return call.refuse("time and batch are not its first two axes");
  give(call, onnx.emit("ReverseSequence", {x, lengths}, {{"time_axis", time}, {"batch_axis", batch}}));
}

/// Places of what is not zero, a row for each.
void map_where(Call& call) {
  auto& onnx = call.onnx;
  give(call, onnx.transpose(onnx.emit("NonZero", {call.tensor("condition")}), {1, 0}));
}

/// Kernels without a sorted order of groups, as programs compute sizes with.
void map_segments(Call& call) {
  auto& onnx = call.onnx;
  const std::string_view op = call.node.op;
  const std::string reduction = op.ends_with("PROD")  ? "mul"
                                : op.ends_with("MAX") ? "max"
                                : op.ends_with("MIN") ? "min"
                                                      : "add";
  const Val groups = onnx.cast(call.tensor("segment_ids"), ElementType::int64);
  give(call, foreign::unsorted_segments(call, real(call, "data"), groups, as_sizes(call, "num_segments"), reduction));
}
/// Groups in order, the last of which is in the last row.
void map_segment_sum(Call& call) {
  auto& onnx = call.onnx;
  const Val groups = onnx.cast(call.tensor("segment_ids"), ElementType::int64);
  const Val last = onnx.emit("Gather", {groups, onnx.integers({-1})}, {{"axis", std::int64_t{0}}});
  give(call, foreign::grouped(call, real(call, "data"), groups, onnx.emit("Add", {last, onnx.integers({1})}), "add"));
}

void map_embedding_lookup(Call& call) {
  give(call, call.onnx.emit("Gather", {movable(call, "table"), call.tensor("ids")}, {{"axis", std::int64_t{0}}}));
}

void map_split(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  const std::size_t parts = call.node.outputs.size();
  if (parts == 0) return call.refuse("it has no results");
  give(call, onnx.emit_many(parts, "Split", {x}, {{"axis", axis}, {"num_outputs", static_cast<std::int64_t>(parts)}}));
}

void map_split_v(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  give(call, onnx.emit_many(call.node.outputs.size(), "Split", {x, as_sizes(call, "sizes")}, {{"axis", axis}}));
}

void map_concatenation(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<Val> xs =
      call.integer("fused_activation_function", 0) == 0 ? movables(call, "xs") : reals(call, "xs");
  if (xs.empty()) return call.refuse("it has no inputs");
  const std::int64_t axis = call.axis("axis", 0, call.rank(xs.front()));
  give_activated(call, onnx.emit("Concat", xs, {{"axis", axis}}));
}

void map_pack(Call& call) {
  const std::vector<Val> xs = movables(call, "xs");
  if (xs.empty()) return call.refuse("it has no inputs");
  give(call, foreign::stacked(call, xs, call.axis("axis", 0, call.rank(xs.front()) + 1)));
}

void map_unpack(Call& call) {
  const Val x = movable(call, "x");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  const std::size_t parts = call.node.outputs.size();
  if (parts == 0) return call.refuse("it has no results");
  give(call, foreign::unstacked(call, x, axis, parts));
}

void map_gather(Call& call) {
  const Val x = movable(call, "x"), indices = call.tensor("indices");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  give(call, foreign::gathered(call, x, indices, axis, call.integer("batch_dims", 0)));
}

void map_gather_nd(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  give(call, onnx.emit("GatherND", {x, onnx.cast(call.tensor("indices"), ElementType::int64)}));
}

/// Updates of one place add up.
void map_scatter_nd(Call& call) {
  auto& onnx = call.onnx;
  const Val updates = real(call, "updates");
  const Val zeros = onnx.emit("Expand", {onnx.scalar(onnx.elem(updates), 0), as_sizes(call, "shape")});
  give(call, onnx.emit("ScatterND", {zeros, onnx.cast(call.tensor("indices"), ElementType::int64), updates},
                       {{"reduction", std::string("add")}}));
}

void map_pad(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "x");
  std::vector<Val> inputs = {x, foreign::pads_of_pairs(onnx, call.tensor("paddings"))};
  if (call.has("value")) inputs.push_back(onnx.reshape(real(call, "value"), std::vector<std::int64_t>()));
  give(call, onnx.emit("Pad", inputs));
}

void map_mirror_pad(Call& call) {
  const Val x = real(call, "x");
  const std::int64_t mode = call.integer("mode", 0);
  if (mode == 1) {  // SYMMETRIC
    const auto pairs = call.onnx.constant_integers(call.tensor("paddings"));
    if (!pairs) return call.refuse("its paddings are not constant");
    return give(call, foreign::mirrored_with_border(call, x, *pairs));
  }
  if (mode != 0) return call.refuse("its mode is neither REFLECT nor SYMMETRIC");
  give(call, call.onnx.emit("Pad", {x, foreign::pads_of_pairs(call.onnx, call.tensor("paddings"))},
                            {{"mode", std::string("reflect")}}));
}

void map_reverse(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const auto axes = onnx.constant_integers(call.tensor("axes"));
  if (!axes) return call.refuse("its axes are not constant");
  give(call, foreign::reversed(call, x, *axes));
}

}  // namespace

void register_slice(Mappings& mappings);
void register_slice(Mappings& mappings) {
  mappings.add("STRIDED_SLICE", {"x", "begin", "end", "strides"}, map_strided_slice);
  mappings.add("DYNAMIC_UPDATE_SLICE", {"x", "update", "starts"}, map_update_slice);
  mappings.add("REVERSE_SEQUENCE", {"x", "lengths"}, map_reverse_sequence);
  mappings.add("WHERE", {"condition"}, map_where);
  mappings.add_all({"UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN"},
                   {"data", "segment_ids", "num_segments"}, map_segments);
  mappings.add("SEGMENT_SUM", {"data", "segment_ids"}, map_segment_sum);
  mappings.add("EMBEDDING_LOOKUP", {"ids", "table"}, map_embedding_lookup);
  mappings.add("SLICE", {"x", "begin", "size"}, map_slice);
  mappings.add("SPLIT", {"axis", "x"}, map_split);
  mappings.add("SPLIT_V", {"x", "sizes", "axis"}, map_split_v);
  mappings.add("CONCATENATION", {"xs..."}, map_concatenation);
  mappings.add("PACK", {"xs..."}, map_pack);
  mappings.add("UNPACK", {"x"}, map_unpack);
  mappings.add("GATHER", {"x", "indices"}, map_gather);
  mappings.add("GATHER_ND", {"x", "indices"}, map_gather_nd);
  mappings.add("SCATTER_ND", {"indices", "updates", "shape"}, map_scatter_nd);
  mappings.add("PAD", {"x", "paddings"}, map_pad);
  mappings.add("PADV2", {"x", "paddings", "value"}, map_pad);
  mappings.add("MIRROR_PAD", {"x", "paddings"}, map_mirror_pad);
  mappings.add("REVERSE_V2", {"x", "axes"}, map_reverse);
}

}  // namespace onnxkit::tflite
