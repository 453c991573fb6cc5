// Attention of com.microsoft: one product gives queries, keys and values, which are parts of its columns.
#include "libonnxkit/plan/attend.h"

namespace onnxkit::plan {
namespace {

/// Inputs and outputs by number.
struct ProjectedAttention {
  enum : std::size_t { x, weights, bias_of_columns, mask, past, attention_bias };
  enum : std::size_t { result, present };
};

/// Past keys and values [2, batch, heads, length, size], and behind them the new ones, along the axis of length.
View both_present(LowerCall& call, const View& k, const View& v) {
  const std::optional<View> before = call.has_input(ProjectedAttention::past)
                                         ? std::optional(call.as_real(call.input(ProjectedAttention::past)))
                                         : std::nullopt;
  const std::int64_t held = before ? before->dims[3] : 0;
  Dims dims = k.dims;
  dims.insert(dims.begin(), 2);
  dims[3] += held;
  const View whole = call.make(ElementType::float32, dims);
  if (before) call.emit_copy(*before, sliced(whole, 3, 0, 1, held));
  for (const std::int64_t half : {0, 1}) {
    View part = sliced(sliced(whole, 0, half, 1, 1), 3, held, 1, k.dims[2]);
    part.dims.erase(part.dims.begin());
    part.strides.erase(part.strides.begin());
    call.emit_copy(half == 0 ? k : v, part);
  }
  return whole;
}

View half_of(const View& both, std::int64_t at) {
  View half = sliced(both, 0, at, 1, 1);
  half.dims.erase(half.dims.begin());
  half.strides.erase(half.strides.begin());
  return half;
}

View projection(LowerCall& call, const View& rows, const View& by) {
  Dims dims = rows.dims;
  dims.back() = by.dims[1];
  const View product = matrix_product(call, rows, by, dims);
  if (!call.has_input(ProjectedAttention::bias_of_columns)) return product;
  Expression e;
  e.apply(Operation::add, e.input(0, Lane::f32), e.input(1, Lane::f32));
  return mapped(call, e, {product, call.as_real(call.input(ProjectedAttention::bias_of_columns))}, ElementType::float32,
                dims);
}

Unlowered lower_projected_attention(LowerCall& call) {
  if (call.integer("do_rotary") != 0 || call.integer("past_present_share_buffer") != 0)
    return "rotary positions or shared buffers";
  const View rows = call.as_real(call.input(ProjectedAttention::x)),
             by = call.as_real(call.input(ProjectedAttention::weights));
  if (rows.rank() != 3 || by.rank() != 2 || rows.dims[2] != by.dims[0] || rows.size() == 0 || by.size() == 0)
    return "operands of other forms";
  if (call.has_input(ProjectedAttention::bias_of_columns) &&
      call.input_dims(ProjectedAttention::bias_of_columns) != Dims{by.dims[1]})
    return "a bias of other sizes";
  const std::int64_t heads = call.integer("num_heads"), third = by.dims[1] / 3;
  const Dims sizes = call.integers("qkv_hidden_sizes").value_or(Dims{third, third, third});
  if (sizes.size() != 3 || sizes[0] <= 0 || sizes[1] != sizes[0] || sizes[2] <= 0 ||
      sizes[2] != by.dims[1] - sizes[0] - sizes[1])
    return "parts of other sizes";
  const View all = projection(call, rows, by);
  const auto part = [&](std::int64_t first, std::int64_t size) {
    return split_heads(call, sliced(all, 2, first, 1, size), heads);
  };
  const auto q = part(0, sizes[0]), k = part(sizes[0], sizes[1]), v = part(sizes[0] + sizes[1], sizes[2]);
  if (!q || !k || !v) return "heads of other sizes";
  Attending attending{.q = *q, .k = *k, .v = *v, .joins_heads = true};
  const bool has_past = call.has_input(ProjectedAttention::past);
  const std::int64_t held = has_past && call.input_dims(ProjectedAttention::past).size() == 5
                                ? call.input_dims(ProjectedAttention::past)[3]
                                : 0;
  if (has_past || call.has_output(ProjectedAttention::present)) {
    if (k->dims != v->dims) return "keys and values of different sizes";
    const Dims expected = {2, k->dims[0], k->dims[1], held, k->dims[3]};
    if (has_past && call.input_dims(ProjectedAttention::past) != expected) return "a past of other sizes";
    const View both = both_present(call, *k, *v);
    attending.k = half_of(both, 0), attending.v = half_of(both, 1);
    call.set_output(ProjectedAttention::present, both);
  }
  const Dims scores = {q->dims[0], q->dims[1], q->dims[2], attending.k.dims[2]};
  ScoreBias bias(call, scores);
  if (auto refused = add_padding_mask(call, ProjectedAttention::mask, scores, bias)) return refused;
  if (auto refused = add_attention_bias(call, ProjectedAttention::attention_bias, scores, bias)) return refused;
  attending.bias = bias.made();
  attending.parameters.scale = scale_or_usual(call, q->dims[3]);
  attending.parameters.is_causal = call.integer("unidirectional") != 0;
  attending.parameters.causal_offset = held;
  return attend(call, attending);
}

}  // namespace

void register_projected_attention(LoweringRegistry& registry);
void register_projected_attention(LoweringRegistry& registry) {
  registry.add("com.microsoft", "Attention", all_versions(), lower_projected_attention);
}

}  // namespace onnxkit::plan
