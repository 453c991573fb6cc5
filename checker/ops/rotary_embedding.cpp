// RotaryEmbedding: turns pairs of each head of X, [batch, heads, time, d] or packed [batch, time, heads * d]. The caches hold one cosine
// and one sine for each pair: [positions, pairs] with position_ids, else [batch, time, pairs].
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

Dim packed_head_size(InferContext& context, const Shape& x) {
  const std::int64_t heads = context.integer("num_heads");
  if (heads == 0) {
    context.error({.code = "missing-attribute",
                   .at = at_node(),
                   .message = "inputs of rank 3 require attribute num_heads",
                   .expected = "num_heads",
                   .found = "no such attribute"});
    return {};
  }
  if (!require_in_range(context, "num_heads", heads, 1)) return {};
  const std::string why = fmt::format("the last axis of input 0 cannot be split into {} heads", heads);
  if (!require_divisible(context, x[2], heads, at_node(), why)) return {};
  return context.dims().floor_div(x[2], heads);
}

void check_caches(InferContext& context, Dim batch, Dim time, Dim head_size) {
  const std::int64_t part = context.integer("rotary_embedding_dim");
  if (!require_in_range(context, "rotary_embedding_dim", part, 0)) return;
  const Dim turned = part > 0 ? Dim(part) : head_size;
  if (!require_divisible(context, turned, 2, at_node(), "the rotated size must be even")) return;
  const Dim pairs = context.dims().floor_div(turned, 2);
  const bool by_position = context.has_input(3);
  const Shape cache = by_position ? Shape{Dim(), pairs} : Shape{batch, time, pairs};
  require_shape(context, 1, cache, "there must be one cosine per pair");
  require_shape(context, 2, cache, "there must be one sine per pair");
  require_shape(context, 3, {batch, time}, "there must be one position id per position");
}

void infer_rotary_embedding(InferContext& context) {
  context.copy_shape(0, 0);
  const Shape* x = context.input_shape(0);
  if (!x) return;
  if (x->size() != 3 && x->size() != 4) {
    context.error({.code = "rank-mismatch",
                   .at = at_input(0),
                   .message = "RotaryEmbedding requires packed heads (rank 3) or a head axis (rank 4)",
                   .expected = "rank 3 or 4",
                   .found = context.text(*x)});
    return;
  }
  const bool packed = x->size() == 3;
  check_caches(context, (*x)[0], (*x)[packed ? 1 : 2], packed ? packed_head_size(context, *x) : (*x)[3]);
}

}  // namespace

void register_rotary_embedding(InferRegistry& registry) {
  registry.add("RotaryEmbedding", all_versions(), infer_rotary_embedding);
}

}  // namespace onnxkit::checker
