#include <cmath>
#include <limits>

#include "libonnxkit/plan/attend.h"
#include "libonnxkit/spec/pattern_attributes.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// Inputs and outputs by number.
struct AttentionPort {
  enum : std::size_t { query, key, value, mask, past_key, past_value, valid_lengths };
  enum : std::size_t { result, present_key, present_value, shown_scores };
};
/// What the output of scores shows, by qk_matmul_output_mode.
enum class ShownScores : std::int64_t { raw, capped, biased, weights };

std::optional<View> heads_of(LowerCall& call, std::size_t input, std::string_view heads) {
  const View view = call.as_real(call.input(input));
  if (view.rank() == 3) return split_heads(call, view, call.integer(heads));
  return view.rank() == 4 ? std::optional(view) : std::nullopt;
}

/// From version 24 on keys behind the end of a mask are not seen.
View mask_to_the_end(LowerCall& call, const View& given, std::int64_t columns) {
  if (call.since() < 24 || given.rank() == 0 || given.dims.back() >= columns) return given;
  return extended(call, given, given.rank() - 1, columns, minus_infinity);
}

Unlowered add_mask(LowerCall& call, ScoreBias& bias, std::int64_t columns) {
  if (!call.has_input(AttentionPort::mask)) return std::nullopt;
  const View given = call.input(AttentionPort::mask);
  if (given.rank() > 4 || given.size() == 0 || !has_lane(given.type)) return "a mask of another form";
  View numbers = given;
  if (call.input_type(AttentionPort::mask) == ElementType::boolean) {
    Expression e;
    e.apply(Operation::select, e.input(0, Lane::i64), e.constant(Lane::f32, 0), e.constant(Lane::f32, minus_infinity));
    numbers = mapped(call, e, {given}, ElementType::float32, given.dims);
  } else {
    numbers = stored_as(call, given, ElementType::float32);
  }
  const View whole = mask_to_the_end(call, numbers, columns);
  if (whole.rank() > 0 && whole.dims.back() != columns && whole.dims.back() != 1) return "a mask of another length";
  bias.add(whole);
  return std::nullopt;
}

/// Which keys a query may see by position: what the step's parameters cannot say goes into the bias.
Unlowered add_positions(LowerCall& call, const Attending& attending, bool in_bias, ScoreBias& bias,
                        AttentionParameters& parameters) {
  const std::int64_t left = call.integer("left_window_size", -1), right = call.integer("right_window_size", -1);
  const bool is_causal = call.integer("is_causal") != 0;
  const std::int64_t batch = attending.q.dims[0], rows = attending.q.dims[2], columns = attending.k.dims[2];
  Expression& e = bias.expression();
  std::optional<Number> offset;
  const std::int64_t past = call.has_input(AttentionPort::past_key) ? call.input_dims(AttentionPort::past_key)[2] : 0;
  if (call.has_input(AttentionPort::valid_lengths)) {
    if (call.input(AttentionPort::valid_lengths).size() != batch ||
        call.input(AttentionPort::valid_lengths).rank() != 1)
      return "other lengths";
    const View lengths = checked_numbers(call, call.input(AttentionPort::valid_lengths), 0, columns);
    const Number length = bias.operand(reshaped(lengths, {batch, 1, 1, 1}), Lane::i64);
    bias.require(e.apply(Operation::less, bias.column(), length), minus_infinity);
    if (is_causal || left >= 0 || right >= 0) offset = e.apply(Operation::subtract, length, e.integer(rows));
  } else if (is_causal && !in_bias) {
    parameters.is_causal = true;
    parameters.causal_offset = past;
  }
  const bool adds_causal = is_causal && !parameters.is_causal;
  if (!adds_causal && left < 0 && right < 0) return std::nullopt;
  const Number here = e.apply(Operation::add, bias.row(), offset ? *offset : e.integer(past));
  const Number behind = e.apply(Operation::subtract, here, bias.column());
  const auto require = [&](std::int64_t least, Number least_of) {
    bias.require(e.apply(Operation::less_or_equal, e.integer(least), least_of), minus_infinity);
  };
  if (adds_causal) require(0, behind);
  if (left >= 0) bias.require(e.apply(Operation::less_or_equal, behind, e.integer(left)), minus_infinity);
  if (right >= 0) require(-right, behind);
  return std::nullopt;
}

/// Softmax of scores whose bias was added; rows of which the bias hides all are 0.
View shown_weights(LowerCall& call, const View& scores, const std::optional<View>& bias) {
  const View shares = call.make(ElementType::float32, scores.dims);
  call.emit(softmax_step, {call.contiguous(scores)}, {shares}, SoftmaxParameters());
  if (!bias) return shares;
  const View most = reduced(call, Reduction::maximum, *bias, last_axes(4, 3));
  const View by_row = reshaped(most, {scores.dims[0], scores.dims[1], scores.dims[2], 1});
  Expression e;
  const Number is_hidden = e.apply(Operation::equal, e.input(1, Lane::f32), e.constant(Lane::f32, minus_infinity));
  e.apply(Operation::select, is_hidden, e.constant(Lane::f32, 0), e.input(0, Lane::f32));
  return mapped(call, e, {shares, by_row}, ElementType::float32, scores.dims);
}

/// The output of scores, computed apart from the attention step, which keeps none.
void show_scores(LowerCall& call, const Attending& attending, const std::optional<View>& bias) {
  const auto shown = static_cast<ShownScores>(call.integer("qk_matmul_output_mode"));
  View scores = scores_of(call, attending);
  if (shown >= ShownScores::capped && attending.parameters.softcap > 0) {
    Expression e;
    const Number cap = e.constant(Lane::f32, attending.parameters.softcap);
    const Number bent = e.apply(Operation::tanh, e.apply(Operation::divide, e.input(0, Lane::f32), cap));
    e.apply(Operation::multiply, bent, cap);
    scores = mapped(call, e, {scores}, ElementType::float32, scores.dims);
  }
  if (shown >= ShownScores::biased && bias) {
    Expression e;
    e.apply(Operation::add, e.input(0, Lane::f32), e.input(1, Lane::f32));
    scores = mapped(call, e, {scores, *bias}, ElementType::float32, scores.dims);
  }
  call.set_output(AttentionPort::shown_scores,
                  shown == ShownScores::weights ? shown_weights(call, scores, bias) : scores);
}

Unlowered lower_attention(LowerCall& call) {
  for (const std::size_t input : {AttentionPort::query, AttentionPort::key, AttentionPort::value,
                                  AttentionPort::past_key, AttentionPort::past_value}) {
    if (call.has_input(input) && !is_narrow_real(call.input_type(input)))
      return "only for real numbers of 32 bits and less";
  }
  const auto q = heads_of(call, AttentionPort::query, "q_num_heads");
  auto k = heads_of(call, AttentionPort::key, "kv_num_heads"), v = heads_of(call, AttentionPort::value, "kv_num_heads");
  if (!q || !k || !v) return "operands of other ranks";
  for (const auto& [now, past] : {std::pair{&k, AttentionPort::past_key}, std::pair{&v, AttentionPort::past_value}}) {
    if (!call.has_input(past)) continue;
    const View before = call.as_real(call.input(past));
    Dims expected = (*now)->dims;
    if (before.rank() == 4) expected[2] = before.dims[2];
    if (before.dims != expected) return "a past of other sizes";
    *now = joined_rows(call, before, **now);
  }
  Attending attending{.q = *q, .k = *k, .v = *v};
  AttentionParameters& parameters = attending.parameters;
  const auto scale = call.find_real("scale");
  parameters.scale = scale ? static_cast<double>(*scale) : 1 / std::sqrt(static_cast<double>(q->dims[3]));
  parameters.softcap = std::max(call.real("softcap"), 0.0F);
  parameters.mask_replaces = call.has_attribute(spec::mask_replaces);
  if (call.has_attribute(spec::nan_without_keys)) parameters.blind = std::numeric_limits<double>::quiet_NaN();
  attending.joins_heads = call.input(AttentionPort::query).rank() == 3;
  const bool shows = call.has_output(AttentionPort::shown_scores);
  ScoreBias bias(call, {q->dims[0], q->dims[1], q->dims[2], k->dims[2]});
  if (auto refused = add_mask(call, bias, k->dims[2])) return refused;
  const bool in_bias = shows && call.integer("qk_matmul_output_mode") >= static_cast<std::int64_t>(ShownScores::biased);
  if (auto refused = add_positions(call, attending, in_bias, bias, parameters)) return refused;
  attending.bias = bias.made();
  if (auto refused = attend(call, attending)) return refused;
  call.set_output(AttentionPort::present_key, *k);
  call.set_output(AttentionPort::present_value, *v);
  if (shows) show_scores(call, attending, attending.bias);
  return std::nullopt;
}

}  // namespace

void register_attention(LoweringRegistry& registry);
void register_attention(LoweringRegistry& registry) { registry.add("Attention", all_versions(), lower_attention); }

}  // namespace onnxkit::plan
