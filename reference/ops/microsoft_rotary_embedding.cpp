// com.microsoft: RotaryEmbedding, and MRotaryEmbedding, whose pairs are turned by positions in time, height and width.
#include <algorithm>

#include "reference/kernels/attend.h"
#include "reference/numerics/arithmetic.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

/// The input as [batch, heads, length, size].
Tensor heads_to_turn(const KernelContext& context, const Tensor& x, const Tensor& cosines) {
  require(x.rank() == 3 || x.rank() == 4, "the input must be [batch, length, size] or [batch, heads, length, size]");
  require(cosines.rank() == 2, "cos_cache must be a matrix");
  if (x.rank() == 4) return x;
  std::int64_t heads = context.integer("num_heads");
  if (heads == 0 || context.integer("rotary_embedding_dim") == 0) {
    const std::int64_t head_size = 2 * cosines.dim(1);
    require(head_size > 0 && x.dim(2) % head_size == 0,
            "the hidden size is not divisible into heads of the cache size");
    heads = x.dim(2) / head_size;
  }
  return unpack_heads(context, x, heads);
}

void rotary_embedding_microsoft(KernelContext& context) {
  const Tensor &x = context.input(0), &given = context.input(1), &cosines = context.input(2);
  const Tensor split = heads_to_turn(context, x, cosines);
  const std::int64_t length = split.dim(2);
  std::vector<std::int64_t> positions = given.integers();
  if (given.size() == 1) {
    const std::int64_t offset = given.integer();
    positions.clear();
    for (std::int64_t i = 0; i < x.dim(0) * length; ++i) positions.push_back(add(offset, i % length));
  } else {
    require(given.dims() == Dims({x.dim(0), length}), "position_ids must be one number, or one per position");
  }
  require(context.input(3).dims() == cosines.dims(), "cos_cache and sin_cache must be matrices of the same shape");
  const Tensor y =
      rotate_pairs(context, split, cosines, context.input(3), positions, context.integer("interleaved") != 0);
  context.set_output(0, x.rank() == 3 ? pack_heads(context, y) : y);
}

/// Which of the positions in time, height and width each pair of a head is turned by.
std::vector<std::size_t> streams_of_pairs(const KernelContext& context, std::int64_t pairs) {
  const auto sections = context.integers("mrope_section").value_or(std::vector<std::int64_t>());
  require(sections.size() == 3 &&
              std::all_of(sections.begin(), sections.end(),
                          [&](std::int64_t size) { return size >= 0 && size <= pairs; }) &&
              sections[0] + sections[1] + sections[2] == pairs,
          "mrope_section must be three numbers that add up to half of what is turned");
  const std::int64_t layout = context.integer("mrope_layout");
  require(layout == 0 || layout == 1, "mrope_layout must be 0 or 1");
  std::vector<std::size_t> streams(static_cast<std::size_t>(pairs), 0);
  for (std::int64_t i = 0; i < pairs; ++i) {
    std::size_t& stream = streams[static_cast<std::size_t>(i)];
    if (layout == 0)
      stream = i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2;
    else if (i % 3 != 0 && i < 3 * sections[static_cast<std::size_t>(i % 3)])
      stream = static_cast<std::size_t>(i % 3);
  }
  return streams;
}

void multimodal_rotary_embedding(KernelContext& context) {
  const Tensor &x = context.input(0), &cosines = context.input(2), &sines = context.input(3);
  const Tensor split = heads_to_turn(context, x, cosines);
  require(sines.dims() == cosines.dims(), "cos_cache and sin_cache must be matrices of the same shape");
  require(context.integer("is_packed_batching") == 0, "packed batches are not supported");
  const std::int64_t count = split.dim(0) * split.dim(2), pairs = cosines.dim(1), rows = cosines.dim(0);
  require(context.input(1).dims() == Dims({3, split.dim(0), split.dim(2)}),
          "position_ids must be three numbers per position");
  const std::vector<std::int64_t> given = context.input(1).integers();
  const std::vector<std::size_t> streams = streams_of_pairs(context, pairs);
  // The angles of each position, so that position i has row i.
  Tensor own_cosines = context.make_unset(real_type, {count, pairs}), own_sines = own_cosines;
  const std::span<double> to_cosines = own_cosines.write<double>(), to_sines = own_sines.write<double>();
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < count; ++i) {
    positions.push_back(i);
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const std::int64_t at = given[streams[static_cast<std::size_t>(pair)] * static_cast<std::size_t>(count) +
                                    static_cast<std::size_t>(i)];
      require(at >= 0 && at < rows, "a position is outside of the caches");
      const auto from = static_cast<std::size_t>(at * pairs + pair), to = static_cast<std::size_t>(i * pairs + pair);
      to_cosines[to] = cosines.as<double>()[from];
      to_sines[to] = sines.as<double>()[from];
    }
  }
  const Tensor y = rotate_pairs(context, split, own_cosines, own_sines, positions, context.integer("interleaved") != 0);
  context.set_output(0, x.rank() == 3 ? pack_heads(context, y) : y);
}

}  // namespace

void register_microsoft_rotary_embedding(KernelRegistry& registry) {
  registry.add(microsoft_domain, "RotaryEmbedding", all_versions(), rotary_embedding_microsoft,
               {.noise = noise::ordinary});
  registry.add(microsoft_domain, "MRotaryEmbedding", all_versions(), multimodal_rotary_embedding,
               {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
