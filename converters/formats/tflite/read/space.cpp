// Space exchanged with channels and batches.
#include <algorithm>
#include <limits>

#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

using Extents = std::vector<std::int64_t>;

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

/// Sizes of a value, of which those that are known are constants.
std::vector<Val> sizes_of(OnnxBuilder& onnx, Val x, std::size_t rank) {
  std::vector<Val> sizes;
  for (std::size_t axis = 0; axis < rank; ++axis) sizes.push_back(onnx.size_of(x, static_cast<std::int64_t>(axis)));
  return sizes;
}

Val product_of_sizes(OnnxBuilder& onnx, Val a, Val b) {
  const auto x = onnx.constant_integers(a), y = onnx.constant_integers(b);
  if (x && y && x->size() == 1 && y->size() == 1) return onnx.integers({x->front() * y->front()});
  return onnx.emit("Mul", {a, b});
}
Val quotient_of_sizes(OnnxBuilder& onnx, Val a, std::int64_t b) {
  const auto x = onnx.constant_integers(a);
  if (x && x->size() == 1) return onnx.integers({x->front() / b});
  return onnx.emit("Div", {a, onnx.integers({b})});
}

/// The block shape; refuses one that is not constant or not positive.
Extents blocks_of(Call& call, std::size_t rank) {
  const auto blocks = call.onnx.constant_integers(call.tensor("block_shape"));
  constexpr std::int64_t most = 1 << 20;
  if (blocks && !blocks->empty() && blocks->size() < rank &&
      std::all_of(blocks->begin(), blocks->end(), [](std::int64_t b) { return b >= 1 && b <= most; }))
    return *blocks;
  call.refuse("its block shape is not constant");
  return {};
}

/// Each block of places becomes places in as many batches.
void map_space_to_batch(Call& call) {
  auto& onnx = call.onnx;
  Val x = real(call, "x");
  const std::size_t rank = call.rank(x);
  const Extents blocks = blocks_of(call, rank);
  const auto paddings = onnx.constant_integers(call.tensor("paddings"));
  if (!paddings || paddings->size() != 2 * blocks.size()) return call.refuse("its paddings are not constant");
  Extents pads(2 * rank, 0);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    pads[i + 1] = (*paddings)[2 * i], pads[i + 1 + rank] = (*paddings)[2 * i + 1];
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; }))
    x = onnx.emit("Pad", {x, onnx.integers(pads)});
  const std::vector<Val> sizes = sizes_of(onnx, x, rank);
  std::vector<Val> split = {sizes[0]}, merged = {sizes[0]};
  Extents permutation;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    split.push_back(quotient_of_sizes(onnx, sizes[i + 1], blocks[i]));
    merged.push_back(split.back());
    merged.front() = product_of_sizes(onnx, merged.front(), onnx.integers({blocks[i]}));
    split.push_back(onnx.integers({blocks[i]}));
    permutation.push_back(static_cast<std::int64_t>(2 * i + 2));
  }
  permutation.push_back(0);
  for (std::size_t i = 0; i < blocks.size(); ++i) permutation.push_back(static_cast<std::int64_t>(2 * i + 1));
  for (std::size_t axis = blocks.size() + 1; axis < rank; ++axis) {
    permutation.push_back(static_cast<std::int64_t>(split.size()));
    split.push_back(sizes[axis]);
    merged.push_back(sizes[axis]);
  }
  const Val moved = onnx.transpose(onnx.emit("Reshape", {x, onnx.joined(split)}), permutation);
  give(call, onnx.emit("Reshape", {moved, onnx.joined(merged)}));
}

void map_batch_to_space(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const std::size_t rank = call.rank(x);
  const Extents blocks = blocks_of(call, rank);
  const auto crops = onnx.constant_integers(call.tensor("crops"));
  if (!crops || crops->size() != 2 * blocks.size()) return call.refuse("its crops are not constant");
  const std::vector<Val> sizes = sizes_of(onnx, x, rank);
  Val batch = sizes[0];
  std::vector<Val> split, merged;
  Extents permutation = {static_cast<std::int64_t>(blocks.size())};
  for (const std::int64_t block : blocks) {
    split.push_back(onnx.integers({block}));
    batch = quotient_of_sizes(onnx, batch, block);
  }
  split.push_back(batch);
  merged.push_back(batch);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    permutation.push_back(static_cast<std::int64_t>(blocks.size() + 1 + i));
    permutation.push_back(static_cast<std::int64_t>(i));
    split.push_back(sizes[i + 1]);
    merged.push_back(product_of_sizes(onnx, sizes[i + 1], onnx.integers({blocks[i]})));
  }
  for (std::size_t axis = blocks.size() + 1; axis < rank; ++axis) {
    permutation.push_back(static_cast<std::int64_t>(split.size()));
    split.push_back(sizes[axis]);
    merged.push_back(sizes[axis]);
  }
  const Val moved = onnx.transpose(onnx.emit("Reshape", {x, onnx.joined(split)}), permutation);
  Val space = onnx.emit("Reshape", {moved, onnx.joined(merged)});
  Extents starts, ends, axes;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if ((*crops)[2 * i] == 0 && (*crops)[2 * i + 1] == 0) continue;
    axes.push_back(static_cast<std::int64_t>(i + 1));
    starts.push_back((*crops)[2 * i]);
    ends.push_back((*crops)[2 * i + 1] == 0 ? std::numeric_limits<std::int32_t>::max() : -(*crops)[2 * i + 1]);
  }
  if (!axes.empty())
    space = onnx.emit("Slice", {space, onnx.integers(starts), onnx.integers(ends), onnx.integers(axes)});
  give(call, space);
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
