// Images of other sizes; space exchanged with channels and batches.
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

void map_resize(Call& call) {
  const Val x = call.tensor("images");
  if (call.rank(x) != 4) return call.refuse("its input does not have four axes");
  const bool aligned = call.flag("align_corners", false), centered = call.flag("half_pixel_centers", false);
  const char* mode = call.node.op == "ResizeBilinear" ? "linear" : "nearest";
  const Val size = as_sizes(call, "size");
  // Results of ResizeBilinear are float32, whatever its input.
  const Val numbers = call.node.op == "ResizeBilinear" ? call.onnx.cast(x, ElementType::float32) : x;
  give_space(call, foreign::resized(call, to_channels_first(call, numbers), size, mode, aligned, centered));
}

void map_depth_to_space(Call& call) {
  auto& onnx = call.onnx;
  const std::int64_t block = call.integer("block_size", 0);
  if (call.text("data_format").size() > 4) return call.refuse("its channels are packed by four");
  // Channels are the last of what makes up a block, as in ONNX's mode DCR.
  give_space(call, onnx.emit("DepthToSpace", {to_channels_first(call, call.tensor("input"))},
                             {{"blocksize", block}, {"mode", std::string("DCR")}}));
}
void map_space_to_depth(Call& call) {
  auto& onnx = call.onnx;
  const std::int64_t block = call.integer("block_size", 0);
  if (call.text("data_format").size() > 4) return call.refuse("its channels are packed by four");
  give_space(call, onnx.emit("SpaceToDepth", {to_channels_first(call, call.tensor("input"))}, {{"blocksize", block}}));
}

void map_space_to_batch(Call& call) {
  call.result(foreign::space_to_batch(call, call.tensor("input"), call.tensor("block_shape"), call.tensor("paddings")));
}
void map_batch_to_space(Call& call) {
  call.result(foreign::batch_to_space(call, call.tensor("input"), call.tensor("block_shape"), call.tensor("crops")));
}

}  // namespace

void register_space(Mappings& mappings);
void register_space(Mappings& mappings) {
  mappings.add_all({"ResizeBilinear", "ResizeNearestNeighbor"}, {"images", "size"}, map_resize);
  mappings.add("DepthToSpace", {"input"}, map_depth_to_space);
  mappings.add("SpaceToDepth", {"input"}, map_space_to_depth);
  mappings.add("SpaceToBatchND", {"input", "block_shape", "paddings"}, map_space_to_batch);
  mappings.add("BatchToSpaceND", {"input", "block_shape", "crops"}, map_batch_to_space);
}

}  // namespace onnxkit::saved_model
