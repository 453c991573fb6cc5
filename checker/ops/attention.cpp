// Attention: queries [batch, q_heads, q_length, d], keys [batch, kv_heads, kv_length, d], values [batch, kv_heads, kv_length, dv], or all
// three with the heads packed into the last axis, [batch, length, heads * d]. q_heads is a multiple of kv_heads.
//   24: nonpad_kv_seqlen, and masks that are shorter than the keys. 25: window sizes.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

enum AttentionInput : std::size_t { query, key, value, mask, past_key, past_value, valid_lengths };

/// One of Q, K, V in its unpacked form.
struct Heads {
  Dim batch, count, length, size;
};

/// The attribute that counts heads of the packed form; it is required there.
std::optional<std::int64_t> stated_heads(InferContext& context, std::string_view attribute) {
  const auto stated = context.find_integer(attribute);
  if (!stated) {
    context.error({.code = "missing-attribute",
                   .at = at_node(),
                   .message = fmt::format("inputs of rank 3 require attribute {}", attribute),
                   .expected = std::string(attribute),
                   .found = "no such attribute"});
    return std::nullopt;
  }
  return require_in_range(context, attribute, *stated, 1) ? stated : std::nullopt;
}

Heads unpack(InferContext& context, std::size_t input, std::optional<std::int64_t> heads) {
  const Shape* shape = context.input_shape(input);
  if (!shape) return {.batch = {}, .count = heads ? Dim(*heads) : Dim(), .length = {}, .size = {}};
  if (shape->size() == 4) return {(*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3]};
  Heads unpacked{.batch = (*shape)[0], .count = {}, .length = (*shape)[1], .size = {}};
  if (!heads) return unpacked;
  unpacked.count = *heads;
  const std::string why = fmt::format("the last axis of input {} cannot be split into {} heads", input, *heads);
  if (require_divisible(context, (*shape)[2], *heads, at_node(), why)) {
    unpacked.size =
        context.dims().exact_div((*shape)[2], *heads).value_or(context.dims().floor_div((*shape)[2], *heads));
  }
  return unpacked;
}

void require_same(InferContext& context, Dim expected, Dim found, std::size_t input, std::string_view why) {
  if (!context.sizes_clash(expected, found)) return;
  context.error({.code = "shape-mismatch",
                 .at = at_input(input),
                 .message = std::string(why),
                 .expected = context.text(expected),
                 .found = fmt::format("{} in {}", context.text(found), context.text(*context.input_shape(input)))});
}

Dim known_of(Dim a, Dim b) { return a.is_unknown() ? b : a; }

void check_group(InferContext& context, Dim queries, Dim keys) {
  const Dim rest = context.dims().mod(queries, keys);
  if (!context.sizes_clash(rest, 0)) return;
  context.error({.code = "divisibility",
                 .at = at_node(),
                 .message = "the number of query heads is not a multiple of the number of key heads",
                 .expected = fmt::format("a multiple of {} heads", context.text(keys)),
                 .found = fmt::format("{} heads", context.text(queries))});
}

struct Operands {
  Heads q, k, v;
  Dim batch() const { return known_of(q.batch, known_of(k.batch, v.batch)); }
  Dim kv_heads() const { return known_of(k.count, v.count); }
  Dim kv_length() const { return known_of(k.length, v.length); }
};

void check_operands(InferContext& context, const Operands& o) {
  require_same(context, o.q.batch, o.k.batch, key, "queries and keys must have the same batch size");
  require_same(context, o.q.batch, o.v.batch, value, "queries and values must have the same batch size");
  require_same(context, o.k.count, o.v.count, value, "keys and values must have the same number of heads");
  require_same(context, o.k.length, o.v.length, value, "there must be one value per key");
  require_same(context, o.q.size, o.k.size, key, "query heads and key heads must have the same size");
  check_group(context, o.q.count, o.kv_heads());
}

/// Length of past and present keys together; reports a past that does not fit.
Dim total_length(InferContext& context, const Operands& o) {
  if (context.has_input(past_key) != context.has_input(past_value)) {
    const std::size_t missing = context.has_input(past_key) ? past_value : past_key;
    context.error({.code = "missing-input",
                   .at = at_input(missing),
                   .message = "past_key and past_value must be given together",
                   .expected = "both or none",
                   .found = "one of them"});
  }
  if (!context.has_input(past_key)) return o.kv_length();
  const Shape* past = context.input_shape(past_key);
  const Dim length = past && past->size() == 4 ? (*past)[2] : Dim();
  require_shape(context, past_key, {o.batch(), o.kv_heads(), Dim(), known_of(o.q.size, o.k.size)},
                "past_key must match the keys");
  require_shape(context, past_value, {o.batch(), o.kv_heads(), length, o.v.size}, "past_value must match the values");
  return context.dims().add(length, o.kv_length());
}

void check_present(InferContext& context) {
  if (context.since() < 25 || context.has_output(1) == context.has_output(2)) return;
  context.error({.code = "output-count",
                 .at = at_node(),
                 .message = "present_key and present_value must be given together",
                 .expected = "both or none",
                 .found = "one of them"});
}

void check_mask(InferContext& context, const Operands& o, Dim total) {
  // From 24 on a mask may end before the keys do.
  const Dim covered = context.since() >= 24 ? Dim() : total;
  require_broadcast_to(context, mask, {o.batch(), o.q.count, o.q.length, covered},
                       "the mask does not broadcast to the scores");
}

void check_valid_lengths(InferContext& context, const Operands& o) {
  if (context.since() < 24 || !context.has_input(valid_lengths)) return;
  require_shape(context, valid_lengths, {o.batch()}, "nonpad_kv_seqlen must have one length per sequence of the batch");
  if (!context.has_input(past_key) && !context.has_input(past_value)) return;
  context.error({.code = "exclusive-inputs",
                 .at = at_input(valid_lengths),
                 .message = "nonpad_kv_seqlen (external cache) and past_key (internal cache) are mutually exclusive",
                 .expected = "exactly one of the two",
                 .found = "both"});
}

/// The softmax may be computed in float types of 16 bits and more.
void check_softmax_precision(InferContext& context) {
  const auto stated = context.find_integer("softmax_precision");
  if (!stated) return;
  for (const ElementType type :
       {ElementType::float32, ElementType::float16, ElementType::float64, ElementType::bfloat16}) {
    if (*stated == static_cast<std::int64_t>(type)) return;
  }
  context.error({.code = "attribute-value",
                 .at = at_attribute("softmax_precision"),
                 .message = "softmax cannot be computed in this element type",
                 .expected = "1 (float), 10 (float16), 11 (double) or 16 (bfloat16)",
                 .found = std::to_string(*stated)});
}

void check_attributes(InferContext& context) {
  check_softmax_precision(context);
  require_in_range(context, "qk_matmul_output_mode", context.integer("qk_matmul_output_mode"), 0, 3);
  for (const char* side : {"left_window_size", "right_window_size"})
    require_in_range(context, side, context.integer(side, -1), -1);
}

/// 3 or 4, the same for Q, K and V; nullopt when none is known or they differ.
std::optional<std::size_t> common_rank(InferContext& context) {
  std::optional<std::size_t> rank;
  for (const std::size_t input : {query, key, value}) {
    const auto here = context.input_rank(input);
    if (!here) continue;
    const bool allowed = *here == 3 || *here == 4;
    if (allowed && (!rank || *rank == *here)) {
      rank = here;
      continue;
    }
    context.error({.code = "rank-mismatch",
                   .at = at_input(input),
                   .message = "queries, keys and values must all have rank 3 (packed heads) or all rank 4",
                   .expected = rank ? fmt::format("rank {}", *rank) : "rank 3 or 4",
                   .found = context.text(*context.input_shape(input))});
    return std::nullopt;
  }
  return rank;
}

void infer_attention(InferContext& context) {
  check_attributes(context);
  const auto rank = common_rank(context);
  if (!rank) return;
  std::optional<std::int64_t> q_heads, kv_heads;
  if (*rank == 3) {
    q_heads = stated_heads(context, "q_num_heads");
    kv_heads = stated_heads(context, "kv_num_heads");
    if (!q_heads || !kv_heads) return;
  }
  const Operands o{unpack(context, query, q_heads), unpack(context, key, kv_heads), unpack(context, value, kv_heads)};
  check_operands(context, o);
  const Dim total = total_length(context, o);
  check_present(context);
  check_mask(context, o, total);
  check_valid_lengths(context, o);
  context.set_shape(0, *rank == 4 ? Shape{o.batch(), o.q.count, o.q.length, o.v.size}
                                  : Shape{o.batch(), o.q.length, context.dims().mul(o.q.count, o.v.size)});
  context.set_shape(1, {o.batch(), o.kv_heads(), total, known_of(o.k.size, o.q.size)});
  context.set_shape(2, {o.batch(), o.kv_heads(), total, o.v.size});
  context.set_shape(3, {o.batch(), o.q.count, o.q.length, total});
}

/// Four axes always; the modifiers see and give scores of one shape, in the precision of the softmax.
void infer_flex_attention(InferContext& context) {
  check_softmax_precision(context);
  for (const std::size_t input : {query, key, value}) {
    if (rank_differs(context, input, 4)) return;
  }
  const Operands o{unpack(context, query, {}), unpack(context, key, {}), unpack(context, value, {})};
  check_operands(context, o);
  context.set_shape(0, {o.batch(), o.q.count, o.q.length, o.v.size});
  const std::int64_t stated = context.integer("softmax_precision");
  ElementType precision =
      stated > 0 && stated < element_type_count ? static_cast<ElementType>(stated) : ElementType::undefined;
  if (precision == ElementType::undefined) {
    const ElementType elem = context.input_elem(query);
    precision = elem == ElementType::float64 ? elem : ElementType::float32;
  }
  const Type scores = Type::tensor(precision, {o.batch(), o.q.count, o.q.length, o.kv_length()});
  for (const char* modifier : {"score_mod", "prob_mod"}) {
    const auto given = context.infer_body(modifier, std::span(&scores, 1));
    if (!given) continue;
    if (given->size() != 1) {
      context.error({.code = "subgraph-arity",
                     .at = at_attribute(modifier),
                     .message = "the body must return one tensor",
                     .expected = "1 output",
                     .found = fmt::format("{} outputs", given->size())});
    } else if (!same_structure(scores, given->front().type)) {
      context.error({.code = "subgraph-types",
                     .at = at_attribute(modifier),
                     .message = "the body returns a type that differs from its input type",
                     .expected = to_string(scores, context.dims()),
                     .found = to_string(given->front().type, context.dims())});
    }
  }
}

}  // namespace

void register_attention(InferRegistry& registry) {
  registry.add("Attention", all_versions(), infer_attention,
               {.cost = cost::attention, .type_attributes = {"softmax_precision"}});
  registry.add("ai.onnx.preview", "FlexAttention", all_versions(), infer_flex_attention,
               {.cost = cost::flex_attention, .type_attributes = {"softmax_precision"}});
}

}  // namespace onnxkit::checker
