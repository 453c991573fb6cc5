// Space exchanged with channels and batches.
#include "converters/foreign/slices.h"

#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

void map_depth_to_space(Call& call) {
  auto& onnx = call.onnx;
  const Val first = channels_first(onnx, movable(call, "x"));
  // Channels are the last of what makes up a block, as in ONNX's mode DCR.
  give_channels_first(call, onnx.emit("DepthToSpace", {first},
                                      {{"blocksize", call.integer("block_size", 0)}, {"mode", std::string("DCR")}}));
}

void map_space_to_depth(Call& call) {
  auto& onnx = call.onnx;
  const Val first = channels_first(onnx, movable(call, "x"));
  give_channels_first(call, onnx.emit("SpaceToDepth", {first}, {{"blocksize", call.integer("block_size", 0)}}));
}

void map_space_to_batch(Call& call) {
  give(call, foreign::space_to_batch(call, real(call, "x"), call.tensor("block_shape"), call.tensor("paddings")));
}
void map_batch_to_space(Call& call) {
  give(call, foreign::batch_to_space(call, movable(call, "x"), call.tensor("block_shape"), call.tensor("crops")));
}

}  // namespace

void register_space(Mappings& mappings);
void register_space(Mappings& mappings) {
  mappings.add("DEPTH_TO_SPACE", {"x"}, map_depth_to_space);
  mappings.add("SPACE_TO_DEPTH", {"x"}, map_space_to_depth);
  mappings.add("SPACE_TO_BATCH_ND", {"x", "block_shape", "paddings"}, map_space_to_batch);
  mappings.add("BATCH_TO_SPACE_ND", {"x", "block_shape", "crops"}, map_batch_to_space);
}

}  // namespace onnxkit::tflite
