// RotaryEmbedding: turns the pairs of each head by the angle of the position, whose cosine and sine come from caches.
#include "reference/kernels/attend.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void rotary_embedding(KernelContext& context) {
  const Tensor& x = context.input(0);
  const bool packed = x.rank() == 3;
  const Tensor heads = packed ? unpack_heads(context, x, context.integer("num_heads")) : x;
  require(heads.rank() == 4, "RotaryEmbedding requires packed heads (rank 3) or a head axis (rank 4)");
  const std::int64_t batch = heads.dim(0), length = heads.dim(2);
  const std::int64_t stated = context.integer("rotary_embedding_dim");
  const std::int64_t turned = stated == 0 ? heads.dim(3) : stated;

  Tensor cosines = context.input(1), sines = context.input(2);
  require(cosines.dims() == sines.dims(), "sin_cache and cos_cache must have the same shape");
  std::vector<std::int64_t> rows;
  if (const Tensor* positions = context.find_input(3)) {
    require(cosines.rank() == 2, "with position_ids the caches must be [positions, pairs]");
    rows = expand(context, *positions, {batch, length}).integers();
  } else {
    require(cosines.rank() == 3 && cosines.dim(0) == batch && cosines.dim(1) == length,
            "without position_ids the caches must be [batch, length, pairs]");
    rows = identity_index(batch * length);
    const Dims joined = {batch * length, cosines.dim(2)};
    cosines = cosines.reshaped(joined);
    sines = sines.reshaped(joined);
  }
  require(turned % 2 == 0 && cosines.dim(1) == turned / 2, "the caches must have one angle per pair");
  const Tensor y = rotate_pairs(context, heads, cosines, sines, rows, context.integer("interleaved") != 0);
  context.set_output(0, packed ? pack_heads(context, y) : y);
}

}  // namespace

void register_rotary_embedding(KernelRegistry& registry) {
  registry.add("RotaryEmbedding", all_versions(), rotary_embedding, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
