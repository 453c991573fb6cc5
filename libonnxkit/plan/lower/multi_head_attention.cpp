// MultiHeadAttention of com.microsoft: queries, keys and values apart or packed, a bias for them, masks, past keys and values.
#include "libonnxkit/plan/attend.h"

namespace onnxkit::plan {
namespace {

/// Inputs and outputs by number.
struct MultiHead {
  enum : std::size_t {
    query,
    key,
    value,
    projection_bias,
    padding_mask,
    attention_bias,
    past_key,
    past_value,
    past_length,
    beams
  };
  enum : std::size_t { result, present_key, present_value, shown_scores };
};

struct Projected {
  View q, k, v;
};

/// Part `at` of [batch, length, heads, parts, size] as [batch, heads, length, size].
View of_packed(const View& packed, std::int64_t at) { return permuted(picked(packed, 3, at), heads_before_rows); }

/// [batch, length, heads * size] with its part of the bias, as heads.
std::optional<View> heads_with_bias(LowerCall& call, const View& x, std::int64_t heads, std::int64_t first) {
  if (x.rank() == 4) return x;
  if (x.rank() != 3 || !call.has_input(MultiHead::projection_bias)) return split_heads(call, x, heads);
  const View bias = call.as_real(call.input(MultiHead::projection_bias));
  if (bias.rank() != 1 || first + x.dims[2] > bias.dims[0]) return std::nullopt;
  Expression e;
  e.apply(Operation::add, e.input(0, Lane::f32), e.input(1, Lane::f32));
  return split_heads(call, mapped(call, e, {x, sliced(bias, 0, first, 1, x.dims[2])}, ElementType::float32, x.dims),
                     heads);
}

std::optional<Projected> projected(LowerCall& call, std::int64_t heads) {
  const View q = call.as_real(call.input(MultiHead::query));
  if (q.rank() == 5) {
    if (q.dims[3] != 3 || q.dims[2] != heads || call.has_input(MultiHead::projection_bias)) return std::nullopt;
    return Projected{of_packed(q, 0), of_packed(q, 1), of_packed(q, 2)};
  }
  if (q.rank() != 3 || !call.has_input(MultiHead::key)) return std::nullopt;
  const View k = call.as_real(call.input(MultiHead::key));
  const auto q_heads = heads_with_bias(call, q, heads, 0);
  if (k.rank() == 5) {
    if (k.dims[3] != 2 || k.dims[2] != heads || !q_heads || call.has_input(MultiHead::projection_bias))
      return std::nullopt;
    return Projected{*q_heads, of_packed(k, 0), of_packed(k, 1)};
  }
  if (!call.has_input(MultiHead::value)) return std::nullopt;
  const std::int64_t hidden = q.dims[2];
  const auto k_heads = heads_with_bias(call, k, heads, hidden),
             v_heads = heads_with_bias(call, call.as_real(call.input(MultiHead::value)), heads,
                                       hidden + (k.rank() == 3 ? k.dims[2] : 0));
  if (!q_heads || !k_heads || !v_heads) return std::nullopt;
  return Projected{*q_heads, *k_heads, *v_heads};
}

Unlowered lower_multi_head_attention(LowerCall& call) {
  if (call.has_input(MultiHead::past_length) || call.has_input(MultiHead::beams)) return "shared buffers or beams";
  if (call.has_output(MultiHead::shown_scores)) return "scores are asked for";
  auto parts = projected(call, call.integer("num_heads"));
  if (!parts) return "operands of other forms";
  std::int64_t past = 0;
  for (const auto& [now, input] :
       {std::pair{&parts->k, MultiHead::past_key}, std::pair{&parts->v, MultiHead::past_value}}) {
    if (!call.has_input(input)) continue;
    const View before = call.as_real(call.input(input));
    Dims expected = now->dims;
    if (before.rank() == 4) past = expected[2] = before.dims[2];
    if (before.dims != expected) return "a past of other sizes";
    *now = joined_rows(call, before, *now);
  }
  Attending attending{.q = parts->q, .k = parts->k, .v = parts->v, .joins_heads = true};
  const Dims scores = {attending.q.dims[0], attending.q.dims[1], attending.q.dims[2], attending.k.dims[2]};
  ScoreBias bias(call, scores);
  if (auto refused = add_padding_mask(call, MultiHead::padding_mask, scores, bias)) return refused;
  if (auto refused = add_attention_bias(call, MultiHead::attention_bias, scores, bias)) return refused;
  attending.bias = bias.made();
  attending.parameters.scale = scale_or_usual(call, attending.q.dims[3]);
  attending.parameters.is_causal = call.integer("unidirectional") != 0;
  attending.parameters.causal_offset = past;
  if (auto refused = attend(call, attending)) return refused;
  call.set_output(MultiHead::present_key, attending.k);
  call.set_output(MultiHead::present_value, attending.v);
  return std::nullopt;
}

}  // namespace

void register_multi_head_attention(LoweringRegistry& registry);
void register_multi_head_attention(LoweringRegistry& registry) {
  registry.add("com.microsoft", "MultiHeadAttention", all_versions(), lower_multi_head_attention);
}

}  // namespace onnxkit::plan
