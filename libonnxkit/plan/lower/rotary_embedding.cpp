// RotaryEmbedding of com.microsoft; that of ai.onnx becomes other operators in the pass expand_operators.
#include "libonnxkit/plan/attend.h"
#include "libonnxkit/plan/rotate.h"

namespace onnxkit::plan {
namespace {

struct Rotary {
  enum : std::size_t { x, positions, cosine_cache, sine_cache };
};

/// [batch, heads, rows, size]; nothing where the heads do not divide the last axis.
std::optional<View> heads_to_turn(LowerCall& call, const View& x) {
  if (x.rank() == 4) return x;
  std::int64_t heads = call.integer("num_heads");
  if (heads == 0 || call.integer("rotary_embedding_dim") == 0) {
    const Dims& cache = call.input_dims(Rotary::cosine_cache);
    if (x.rank() != 3 || cache.size() != 2 || cache[1] == 0 || x.dims[2] % (2 * cache[1]) != 0) return std::nullopt;
    heads = x.dims[2] / (2 * cache[1]);
  }
  return split_heads(call, x, heads);
}

/// One number is the position of the first row of each sequence.
std::optional<View> positions_of_rows(LowerCall& call, std::int64_t batch, std::int64_t rows) {
  const View given = call.input(Rotary::positions);
  if (given.size() != 1) return given.dims == Dims{batch, rows} ? std::optional(given) : std::nullopt;
  Expression e;
  e.apply(Operation::add, e.input(0, Lane::i64), e.input(1, Lane::i64));
  return mapped(call, e, {reshaped_or_copied(call, given, {1, 1}), positions_along(call, {batch, rows}, 1)},
                ElementType::int64, {batch, rows});
}

Unlowered lower_rotary_embedding(LowerCall& call) {
  const View x = call.as_real(call.input(Rotary::x));
  if (x.size() == 0) return "without elements";
  const auto heads = heads_to_turn(call, x);
  if (!heads) return "heads of other sizes";
  const auto positions = positions_of_rows(call, heads->dims[0], heads->dims[2]);
  if (!positions) return "positions of other sizes";
  const auto angles = angles_at(call, Rotary::cosine_cache, Rotary::sine_cache, *positions);
  if (!angles || 2 * angles->cosines.dims[3] > heads->dims[3]) return "caches of other sizes";
  const View result = turned(call, *heads, *angles, call.integer("interleaved") != 0);
  call.set_output(0, x.rank() == 4 ? result : reshaped_or_copied(call, permuted(result, heads_before_rows), x.dims));
  return std::nullopt;
}

}  // namespace

void register_rotary_embedding(LoweringRegistry& registry);
void register_rotary_embedding(LoweringRegistry& registry) {
  registry.add("com.microsoft", "RotaryEmbedding", all_versions(), lower_rotary_embedding);
}

}  // namespace onnxkit::plan
