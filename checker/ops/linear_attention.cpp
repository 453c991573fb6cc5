// LinearAttention: heads packed into the last axis, query and key [batch, time, heads * dk], value [batch, time, kv_heads * dv]; the state
// that goes from step to step is [batch, kv_heads, dk, dv].
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

enum LinearAttentionInput : std::size_t { queries, keys, values, past_state, decay, beta };

Dim axis_of(InferContext& context, std::size_t input, std::size_t axis) {
  const Shape* shape = context.input_shape(input);
  return shape && axis < shape->size() ? (*shape)[axis] : Dim();
}

Dim head_size(InferContext& context, std::size_t input, std::int64_t heads) {
  const Dim packed = axis_of(context, input, 2);
  const std::string why = fmt::format("the last axis of input {} cannot be split into {} heads", input, heads);
  if (!require_divisible(context, packed, heads, at_node(), why)) return {};
  return context.dims().exact_div(packed, heads).value_or(context.dims().floor_div(packed, heads));
}

/// One of two last-axis sizes, behind batch and time.
void check_gate(InferContext& context, std::size_t input, Dim batch, Dim time, Dim wide, Dim narrow,
                std::string_view why) {
  const Dim last = axis_of(context, input, 2);
  const bool is_narrow = !last.is_unknown() && !narrow.is_unknown() && !context.dims().never_equal(last, narrow);
  require_shape(context, input, {batch, time, is_narrow ? narrow : wide}, why);
}

void require_gates(InferContext& context) {
  const std::string_view rule = context.string("update_rule");
  const auto require = [&](std::size_t input, std::string_view name) {
    if (context.has_input(input)) return;
    context.error({.code = "missing-input",
                   .at = at_input(input),
                   .message = fmt::format("update rule {} requires input {}", rule, name),
                   .expected = std::string(name),
                   .found = "no such input"});
  };
  if (rule == "gated" || rule == "gated_delta") require(decay, "decay");
  if (rule == "delta" || rule == "gated_delta") require(beta, "beta");
}

/// In com.microsoft keys may have fewer heads than states, and states more than queries; a window holds the states of several positions.
template <bool is_microsoft>
void infer_linear_attention(InferContext& context) {
  for (const std::size_t input : {queries, keys, values}) {
    if (rank_differs(context, input, 3)) return;
  }
  const std::int64_t q_heads = context.integer("q_num_heads", 1);
  const std::int64_t kv_heads = context.integer("kv_num_heads", 1);
  if (!require_in_range(context, "q_num_heads", q_heads, 1) || !require_in_range(context, "kv_num_heads", kv_heads, 1))
    return;
  const bool is_inverse = is_microsoft && q_heads < kv_heads;
  require_divisible(context, is_inverse ? kv_heads : q_heads, is_inverse ? q_heads : kv_heads, at_node(),
                    "the number of query heads is not a multiple of the number of key heads");
  require_gates(context);
  DimPool& dims = context.dims();
  const Dim batch = axis_of(context, queries, 0);
  const Dim time = axis_of(context, queries, 1);
  const Dim dk = head_size(context, queries, q_heads);
  const Dim dv = head_size(context, values, kv_heads);
  require_shape(context, keys, {batch, time, is_microsoft ? Dim() : dims.mul(dk, kv_heads)},
                "keys must match the length and size of the queries");
  require_shape(context, values, {batch, time, Dim()}, "there must be one value per query");
  Shape state = {batch, kv_heads, dk, dv};
  if (const std::int64_t window = context.integer("state_window", 0); window > 0)
    state.insert(state.begin(), Dim(window));
  require_shape(context, past_state, state, "the state must be one matrix per head");
  check_gate(context, decay, batch, time, dims.mul(dk, kv_heads), kv_heads,
             "decay must have one element per head or per row of a head");
  check_gate(context, beta, batch, time, kv_heads, 1, "beta must have one element per head, or one for all");
  context.set_shape(0, {batch, time, dims.mul(dv, is_microsoft ? std::max(q_heads, kv_heads) : q_heads)});
  context.set_shape(1, std::move(state));
  if (context.output_type(1).elem == ElementType::undefined) context.set_elem(1, context.input_elem(queries));
}

}  // namespace

void register_linear_attention(InferRegistry& registry) {
  registry.add("LinearAttention", all_versions(), infer_linear_attention<false>, {.cost = cost::linear_attention});
  registry.add("com.microsoft", "LinearAttention", all_versions(), infer_linear_attention<true>,
               {.cost = cost::linear_attention});
}

}  // namespace onnxkit::checker
