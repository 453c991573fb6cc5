// LinearAttention of ai.onnx and com.microsoft; CausalConvWithState, which models put in front of it.
#include <cmath>

#include "libonnxkit/plan/attend.h"
#include "libonnxkit/plan/elementwise.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// [batch, heads, time, size] of [batch, time, heads * size], with the numbers of a head side by side.
std::optional<View> heads_of(LowerCall& call, std::size_t input, std::int64_t heads) {
  const View x = call.as_real(call.input(input));
  if (x.rank() != 3 || x.size() == 0 || heads < 1) return std::nullopt;
  const auto split = split_heads(call, x, heads);
  return split ? std::optional(with_side_by_side_rows(call, *split)) : std::nullopt;
}

struct LinearAttentionInput {
  enum : std::size_t { queries, keys, values, past_state, decay, rate };
};

Unlowered lower_linear_attention(LowerCall& call) {
  using Input = LinearAttentionInput;
  if (!is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  if (call.integer("state_window") != 0) return "a window of states";
  const std::int64_t heads = call.integer("q_num_heads"), states = call.integer("kv_num_heads");
  const auto q = heads_of(call, Input::queries, heads), v = heads_of(call, Input::values, states);
  if (!q || !v) return "operands of other sizes";
  const std::int64_t batch = q->dims[0], time = q->dims[2], size = q->dims[3], values = v->dims[3];
  const Dims& packed = call.input_dims(Input::keys);
  if (packed.size() != 3 || size == 0 || packed[2] % size != 0 || packed[2] == 0) return "keys of other sizes";
  const auto k = heads_of(call, Input::keys, packed[2] / size);
  const bool has_heads = k && states % k->dims[1] == 0 && (heads % states == 0 || states % heads == 0);
  if (!has_heads || k->dims[0] != batch || v->dims[0] != batch || k->dims[2] != time || v->dims[2] != time)
    return "keys of other sizes";
  const std::string_view rule = call.string("update_rule");
  LinearAttentionParameters parameters;
  parameters.has_decay = rule == "gated" || rule == "gated_delta";
  parameters.has_rate = rule == "delta" || rule == "gated_delta";
  parameters.scale = static_cast<double>(call.real("scale"));
  if (parameters.scale == 0) parameters.scale = 1 / std::sqrt(static_cast<double>(size));
  const Dims state = {batch, states, size, values};
  View first = call.make(ElementType::float32, state);
  if (!call.has_input(Input::past_state)) {
    fill(call, first, 0);
  } else if (call.input_dims(Input::past_state) == state) {
    first = call.contiguous(call.as_real(call.input(Input::past_state)));
  } else {
    return "a state of other sizes";
  }
  std::vector<View> inputs = {*q, *k, *v, first};
  const auto add_gate = [&](std::size_t input, std::int64_t gate_heads, std::int64_t most) {
    const auto gate = call.has_input(input) ? heads_of(call, input, gate_heads) : std::nullopt;
    const bool fits = gate && gate->dims[0] == batch && gate->dims[2] == time;
    if (!fits || (gate->dims[3] != 1 && gate->dims[3] != most)) return false;
    inputs.push_back(*gate);
    return true;
  };
  if (parameters.has_decay && !add_gate(Input::decay, states, size)) return "a decay of other sizes";
  const bool has_one_rate =
      call.has_input(Input::rate) && call.input_dims(Input::rate).size() == 3 && call.input_dims(Input::rate)[2] == 1;
  if (parameters.has_rate && !add_gate(Input::rate, has_one_rate ? 1 : states, 1)) return "a rate of other sizes";
  const std::int64_t results = std::max(heads, states);
  const View y = call.make(ElementType::float32, {batch, time, results * values}),
             last = call.make(ElementType::float32, state);
  call.emit(linear_attention_step, std::move(inputs),
            {permuted(reshaped(y, {batch, time, results, values}), heads_before_rows), last}, parameters);
  call.set_output(0, y);
  if (call.has_output(1)) call.set_output(1, last);
  return std::nullopt;
}

/// Filters of few taps as one map over shifted views of the past values and the new ones behind them.
Unlowered lower_causal_conv(LowerCall& call) {
  constexpr std::size_t input = 0, weights = 1, bias = 2, past = 3;
  constexpr std::int64_t most_taps = 16;
  if (!is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  if (call.integer("ndim", 1) != 1 || call.integer("state_window") != 0) return "several axes, or a window of states";
  const bool is_last = call.integer("channels_last") != 0;
  const View given = call.as_real(call.input(input)), filters = call.as_real(call.input(weights));
  if (given.size() == 0 || given.rank() < 3 || (!is_last && given.rank() != 3)) return "an input of other sizes";
  const std::int64_t batch = given.dims[0], time = given.dims[is_last ? 1 : 2], channels = given.size() / batch / time;
  if (filters.rank() != 3 || filters.dims[0] != channels || filters.dims[1] != 1) return "filters of other sizes";
  const std::int64_t taps = filters.dims[2], dilation = call.integer("dilation", 1);
  if (taps < 1 || taps > most_taps || dilation < 1 || dilation > most_matrix_elements) return "filters of many taps";
  constexpr std::int64_t time_last[] = {0, 2, 1};
  const auto channels_first = [&](const View& x, std::int64_t length) {
    if (!is_last) return x;
    return permuted(reshaped_or_copied(call, x, {batch, length, channels}), time_last);
  };
  const std::int64_t held = (taps - 1) * dilation;
  const View now = channels_first(given, time);
  const View all = call.make_like(ElementType::float32, {batch, channels, held + time}, now);
  call.emit_copy(now, sliced(all, 2, held, 1, time));
  if (held > 0) {
    const View before = sliced(all, 2, 0, 1, held);
    if (call.has_input(past)) {
      if (call.input(past).size() != before.size()) return "a state of other sizes";
      call.emit_copy(channels_first(call.as_real(call.input(past)), held), before);
    } else {
      fill(call, before, 0);
    }
  }
  Expression e;
  std::vector<View> inputs;
  const auto next = [&](const View& view) {
    inputs.push_back(view);
    return e.input(inputs.size() - 1, lane_of(view.type));
  };
  std::optional<Number> sum;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const Number value = next(sliced(all, 2, tap * dilation, 1, time));
    const Number weight = next(reshaped(sliced(filters, 2, tap, 1, 1), {1, channels, 1}));
    const Number product = e.apply(Operation::multiply, value, weight);
    sum = sum ? e.apply(Operation::add, *sum, product) : product;
  }
  if (call.has_input(bias)) {
    if (call.input_dims(bias) != Dims{channels}) return "a bias of other sizes";
    sum = e.apply(Operation::add, *sum, next(reshaped(call.as_real(call.input(bias)), {1, channels, 1})));
  }
  const std::string_view activation = call.string("activation");
  if (activation == "silu" || activation == "swish") swish_of(e, *sum);
  const View y = call.make_like(ElementType::float32, now.dims, now);
  call.emit_map(e, std::move(inputs), y);
  const auto as_given = [&](const View& x, std::size_t output) {
    return is_last ? reshaped_or_copied(call, permuted(x, time_last), call.output_dims(output)) : x;
  };
  call.set_output(0, as_given(y, 0));
  if (call.has_output(1)) call.set_output(1, as_given(sliced(all, 2, time, 1, held), 1));
  return std::nullopt;
}

}  // namespace

void register_linear_attention(LoweringRegistry& registry);
void register_linear_attention(LoweringRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {
    registry.add(domain, "LinearAttention", all_versions(), lower_linear_attention);
    registry.add(domain, "CausalConvWithState", all_versions(), lower_causal_conv);
  }
}

}  // namespace onnxkit::plan
