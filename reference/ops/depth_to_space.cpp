// DepthToSpace, SpaceToDepth: blocks of height and width against channels. In mode DCR the position in the block is the outer part of the channel,
// in CRD the inner one; `mode` comes with version 11 of DepthToSpace and 28 of SpaceToDepth, before it is DCR.
#include "libonnxkit/base/checked.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

bool is_crd(const KernelContext& context) {
  const std::string_view mode = context.string("mode");
  require(mode.empty() || mode == "DCR" || mode == "CRD", "unknown mode");
  return mode == "CRD";
}

std::int64_t block_size(const KernelContext& context) {
  const std::int64_t block = context.integer("blocksize");
  require(0 < block && block <= 1 << 30, "the block size is out of range");
  require(context.input(0).rank() == 4, "the input must have 4 axes");
  return block;
}

void depth_to_space(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t block = block_size(context);
  const std::int64_t n = x.dim(0), c = x.dim(1), h = x.dim(2), w = x.dim(3);
  require(c % (block * block) == 0, "the number of channels is not divisible into blocks");
  const std::int64_t depth = c / (block * block);
  const bool crd = is_crd(context);
  const Tensor blocks = crd ? x.reshaped({n, depth, block, block, h, w}) : x.reshaped({n, block, block, depth, h, w});
  const Tensor y = permute(context, blocks, crd ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2});
  context.set_output(0, y.reshaped({n, depth, h * block, w * block}));
}

void space_to_depth(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t block = block_size(context);
  const std::int64_t n = x.dim(0), c = x.dim(1), h = x.dim(2), w = x.dim(3);
  require(h % block == 0 && w % block == 0, "height and width are not divisible into blocks");
  const Tensor blocks = x.reshaped({n, c, h / block, block, w / block, block});
  const Tensor y = permute(context, blocks, is_crd(context) ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4});
  const auto depth = checked_mul(c, block * block);
  require(depth.has_value(), "there are too many channels");
  context.set_output(0, y.reshaped({n, *depth, h / block, w / block}));
}

}  // namespace

void register_depth_to_space(KernelRegistry& registry) {
  registry.add("DepthToSpace", all_versions(), depth_to_space, {.noise = noise::moved});
  registry.add("SpaceToDepth", all_versions(), space_to_depth, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
