// Attention and QAttention of com.microsoft: one product gives queries, keys and values, which are parts of its columns.
#include "libonnxkit/plan/attend.h"
#include "libonnxkit/plan/exact_parts.h"

namespace onnxkit::plan {
namespace {

/// Inputs and outputs by number.
struct ProjectedAttention {
  enum : std::size_t { x, weights, bias_of_columns, mask, past, attention_bias };
  enum : std::size_t { result, present };
};

struct QuantizedAttention {
  enum : std::size_t { x, weights, bias_of_columns, x_scale, weight_scale, mask, x_zero, weight_zero, past };
};

/// Past keys and values [2, batch, heads, length, size], and behind them the new ones, along the axis of length.
View both_present(LowerCall& call, std::optional<View> before, const View& k, const View& v) {
  const std::int64_t held = before ? before->dims[3] : 0;
  Dims dims = k.dims;
  dims.insert(dims.begin(), 2);
  dims[3] += held;
  const View whole = call.make(ElementType::float32, dims);
  if (before) call.emit_copy(*before, sliced(whole, 3, 0, 1, held));
  for (const std::int64_t half : {0, 1}) {
    call.emit_copy(half == 0 ? k : v, sliced(picked(whole, 0, half), 2, held, 1, k.dims[2]));
  }
  return whole;
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

/// The same of bytes, summed as integers; scales and zero points of the weights may be those of columns. A reason where there is no such product.
Unlowered quantized_projection(LowerCall& call, View& made) {
  using In = QuantizedAttention;
  Dims dims = call.input_dims(In::x);
  const std::int64_t columns = dims.back() = call.input_dims(In::weights)[1];
  const View w_scale = call.input(In::weight_scale);
  if (call.input(In::x_scale).size() != 1 || (w_scale.size() != 1 && w_scale.size() != columns))
    return "scales of other sizes";
  Parts parts = summed_products(
      call, {.x = In::x, .weights = In::weights, .x_zero = In::x_zero, .weight_zero = In::weight_zero, .result = dims});
  if (!parts.refused.empty()) return parts.refused;
  Expression e;
  const auto sum = integer_sum(e, parts.views, Lane::f64);
  std::vector<View> inputs = std::move(parts.views);
  const auto next = [&](std::size_t input) {
    const View given = call.input(input);
    inputs.push_back(reshaped_or_copied(call, given, given.size() == 1 ? Dims() : Dims{given.size()}));
    return e.convert(e.input(inputs.size() - 1, lane_of(given.type)), Lane::f64);
  };
  const auto by_x = next(In::x_scale), by_weights = next(In::weight_scale);
  const auto scaled = e.apply(Operation::multiply, sum, e.apply(Operation::multiply, by_x, by_weights));
  e.convert(e.apply(Operation::add, scaled, next(In::bias_of_columns)), Lane::f32);
  made = mapped(call, e, std::move(inputs), ElementType::float32, dims);
  return std::nullopt;
}

/// What the reason is for operands of other forms than [batch, length, size] and [size, columns].
Unlowered unfit_operands(LowerCall& call, std::size_t bias) {
  const View &rows = call.input(0), &by = call.input(1);
  if (rows.rank() != 3 || by.rank() != 2 || rows.dims[2] != by.dims[0] || rows.size() == 0 || by.size() == 0)
    return "operands of other forms";
  if (call.has_input(bias) && call.input_dims(bias) != Dims{by.dims[1]}) return "a bias of other sizes";
  if (call.integer("do_rotary") != 0 || call.integer("past_present_share_buffer") != 0)
    return "rotary positions or shared buffers";
  return std::nullopt;
}

/// Where both operators have what they share; no input where there is none.
struct AttentionInputs {
  std::size_t mask, past;
  std::optional<std::size_t> bias = {};
};

/// Attention of the product [batch, length, columns].
Unlowered attend_projected(LowerCall& call, const View& all, const AttentionInputs& in) {
  const std::int64_t heads = call.integer("num_heads"), columns = all.dims[2], third = columns / 3;
  const Dims sizes = call.integers("qkv_hidden_sizes").value_or(Dims{third, third, third});
  if (sizes.size() != 3 || sizes[0] <= 0 || sizes[0] > columns || sizes[1] != sizes[0] || sizes[2] <= 0 ||
      sizes[2] != columns - sizes[0] - sizes[1])
    return "parts of other sizes";
  const auto part = [&](std::int64_t first, std::int64_t size) {
    return split_heads(call, sliced(all, 2, first, 1, size), heads);
  };
  const auto q = part(0, sizes[0]), k = part(sizes[0], sizes[1]), v = part(sizes[0] + sizes[1], sizes[2]);
  if (!q || !k || !v) return "heads of other sizes";
  Attending attending{.q = *q, .k = *k, .v = *v, .joins_heads = true};
  std::optional<View> before;
  if (call.has_input(in.past)) before = call.as_real(call.input(in.past));
  const std::int64_t held = before && before->rank() == 5 ? before->dims[3] : 0;
  if (before || call.has_output(ProjectedAttention::present)) {
    if (k->dims != v->dims) return "keys and values of different sizes";
    const Dims expected = {2, k->dims[0], k->dims[1], held, k->dims[3]};
    if (before && before->dims != expected) return "a past of other sizes";
    const View both = both_present(call, before, *k, *v);
    attending.k = picked(both, 0, 0), attending.v = picked(both, 0, 1);
    call.set_output(ProjectedAttention::present, both);
  }
  const Dims scores = {q->dims[0], q->dims[1], q->dims[2], attending.k.dims[2]};
  ScoreBias bias(call, scores);
  if (auto refused = add_padding_mask(call, in.mask, scores, bias)) return refused;
  if (in.bias) {
    if (auto refused = add_attention_bias(call, *in.bias, scores, bias)) return refused;
  }
  attending.bias = bias.made();
  attending.parameters.scale = scale_or_usual(call, q->dims[3]);
  attending.parameters.is_causal = call.integer("unidirectional") != 0;
  attending.parameters.causal_offset = held;
  return attend(call, attending);
}

Unlowered lower_projected_attention(LowerCall& call) {
  using In = ProjectedAttention;
  if (auto refused = unfit_operands(call, In::bias_of_columns)) return refused;
  const View all = projection(call, call.as_real(call.input(In::x)), call.as_real(call.input(In::weights)));
  return attend_projected(call, all, {.mask = In::mask, .past = In::past, .bias = In::attention_bias});
}

Unlowered lower_quantized_attention(LowerCall& call) {
  using In = QuantizedAttention;
  if (auto refused = unfit_operands(call, In::bias_of_columns)) return refused;
  View all;
  if (auto refused = quantized_projection(call, all)) return refused;
  return attend_projected(call, all, {.mask = In::mask, .past = In::past});
}

}  // namespace

void register_projected_attention(LoweringRegistry& registry);
void register_projected_attention(LoweringRegistry& registry) {
  registry.add("com.microsoft", "Attention", all_versions(), lower_projected_attention);
  registry.add("com.microsoft", "QAttention", all_versions(), lower_quantized_attention);
}

}  // namespace onnxkit::plan
