// com.microsoft: contrib operators of ONNX Runtime that its optimizer and exporters write. What is not here gets the types that its signature tells.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

constexpr std::string_view domain_microsoft = "com.microsoft";

void infer_same_microsoft(InferContext& context) { context.copy_shape(0, 0); }

template <std::size_t... inputs>
void infer_broadcast_microsoft(InferContext& context) {
  constexpr std::size_t list[] = {inputs...};
  if (auto shape = broadcast(context, list)) context.set_shape(0, std::move(*shape));
}

/// Normalisation of a sum; the last output is the sum itself.
void infer_skip_normalization(InferContext& context) {
  context.copy_shape(0, 0);
  if (!context.has_output(3)) return;
  context.set_elem(3, context.input_elem(0));
  context.copy_shape(0, 3);
}

/// Both outputs, as the first input.
void infer_two_alike(InferContext& context) {
  context.copy_shape(0, 0);
  if (!context.has_output(1)) return;
  context.set_elem(1, context.input_elem(0));
  context.copy_shape(0, 1);
}

void infer_bias_dropout(InferContext& context) {
  context.copy_shape(0, 0);
  context.set_elem(1, ElementType::boolean);
  context.copy_shape(0, 1);
}

void infer_bias_split_gelu(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape || shape->empty()) return;
  Shape result = *shape;
  result.back() = context.dims().floor_div(result.back(), 2);
  context.set_shape(0, std::move(result));
}

// ---- products

bool inner_sizes_differ(InferContext& context, Dim a, Dim b, std::size_t b_index) {
  if (!context.sizes_clash(a, b)) return false;
  context.error({.code = "shape-mismatch",
                 .at = at_input(b_index),
                 .message = "inner sizes differ",
                 .expected = context.text(a),
                 .found = context.text(b)});
  return true;
}

void swap_last_two(Shape& shape) {
  if (shape.size() >= 2) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
}

/// transBatchA and transBatchB move the batch axes behind the first matrix axis; those are left to be unknown.
void infer_matmul_microsoft(InferContext& context) {
  const Shape* a_given = context.input_shape(0);
  const Shape* b_given = context.input_shape(1);
  const bool odd = context.integer("transBatchA") != 0 || context.integer("transBatchB") != 0;
  if (!a_given || !b_given || odd || a_given->size() < 2 || b_given->size() < 2) return;
  Shape a = *a_given, b = *b_given;
  if (context.integer("transA") != 0) swap_last_two(a);
  if (context.integer("transB") != 0) swap_last_two(b);
  if (inner_sizes_differ(context, a.back(), b[b.size() - 2], 1)) return;
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    const Dim left = i + a.size() < rank ? Dim(1) : a[i + a.size() - rank];
    const Dim right = i + b.size() < rank ? Dim(1) : b[i + b.size() - rank];
    result.push_back(broadcast_dim(context, left, right));
  }
  result.push_back(a[a.size() - 2]);
  result.push_back(b.back());
  context.set_shape(0, std::move(result));
}

void infer_integer_matmul(InferContext& context) {
  context.set_elem(0, ElementType::int32);
  infer_matmul_microsoft(context);
}

/// The weight is packed; its real sizes are the attributes K and N.
void infer_packed_matmul(InferContext& context) {
  const Shape* a = context.input_shape(0);
  const auto k = context.find_integer("K");
  const auto n = context.find_integer("N");
  if (!a || a->empty() || !k || !n) return;
  if (*k <= 0 || *n <= 0) {
    context.error({.code = "attribute-value",
                   .at = at_attribute(*k <= 0 ? "K" : "N"),
                   .message = "the weight does not have this size",
                   .expected = "1 or more",
                   .found = std::to_string(*k <= 0 ? *k : *n)});
    return;
  }
  if (inner_sizes_differ(context, *k, a->back(), 0)) return;
  Shape result = *a;
  result.back() = *n;
  context.set_shape(0, std::move(result));
}

template <std::size_t b_index>
void infer_gemm_microsoft(InferContext& context) {
  if (rank_differs(context, 0, 2) || rank_differs(context, b_index, 2)) return;
  const Shape* a = context.input_shape(0);
  const Shape* b = context.input_shape(b_index);
  if (!a || !b) return;
  const bool trans_a = context.integer("transA") != 0;
  const bool trans_b = context.integer("transB") != 0;
  if (inner_sizes_differ(context, (*a)[trans_a ? 0 : 1], (*b)[trans_b ? 1 : 0], b_index)) return;
  context.set_shape(0, {(*a)[trans_a ? 1 : 0], (*b)[trans_b ? 0 : 1]});
}

void infer_qgemm(InferContext& context) {
  // Without an output zero point the result is float.
  context.set_elem(0, context.has_input(8) ? context.input_elem(8) : ElementType::float32);
  infer_gemm_microsoft<3>(context);
}

// ---- attention

Dim positive(const std::optional<std::int64_t>& number) { return number && *number > 0 ? Dim(*number) : Dim(); }

Dim divided_microsoft(InferContext& context, Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown()) return {};
  context.demand(SizeRelation::equal, context.dims().mod(a, b), 0);
  return context.dims().exact_div(a, b).value_or(Dim());
}

/// Attention and QAttention; `typed` is the input of the type of the results.
template <std::size_t past_input, std::size_t typed>
void infer_attention_microsoft(InferContext& context) {
  const Shape* input = context.input_shape(0);
  const Shape* weights = context.input_shape(1);
  if (rank_differs(context, 0, 3) || rank_differs(context, 1, 2) || !input || !weights) return;
  if (inner_sizes_differ(context, (*input)[2], (*weights)[0], 1)) return;
  const auto sizes = context.integers("qkv_hidden_sizes");
  const Dim hidden = sizes && sizes->size() == 3 ? Dim((*sizes)[2]) : divided_microsoft(context, (*weights)[1], 3);
  context.set_shape(0, {(*input)[0], (*input)[1], hidden});
  if (!context.has_output(1)) return;
  const Dim heads = positive(context.find_integer("num_heads"));
  const Shape* past = context.input_shape(past_input);
  const Dim before = !context.has_input(past_input) ? Dim(0) : past && past->size() == 5 ? (*past)[3] : Dim();
  context.set_elem(1, context.input_elem(typed));
  context.set_shape(
      1, {2, (*input)[0], heads, context.dims().add(before, (*input)[1]), divided_microsoft(context, hidden, heads)});
}

/// Queries are [B, S, H], or packed with keys and values as [B, S, heads, 3, size]; values [B, L, H] or [B, heads, L, size].
void infer_multi_head_attention(InferContext& context) {
  const Shape* query = context.input_shape(0);
  if (!query || (query->size() != 3 && query->size() != 5)) return;
  const Shape* value = context.input_shape(2);
  Dim hidden;
  if (query->size() == 5) {
    hidden = context.dims().mul((*query)[2], (*query)[4]);
  } else if (value && value->size() == 3) {
    hidden = (*value)[2];
  } else if (value && value->size() == 4) {
    hidden = context.dims().mul((*value)[1], (*value)[3]);
  } else if (!context.has_input(2)) {
    hidden = (*query)[2];
  }
  context.set_shape(0, {(*query)[0], (*query)[1], hidden});
}

/// Of the present keys and values: the total of past and new positions, or that of a longer buffer. A cache of a window keeps its size, which is
/// that of the window at least; of another one all is held that is not new.
Dim cache_length(InferContext& context, Dim rows) {
  const Shape* past = context.input_shape(3);
  const Dim held = !context.has_input(3) ? Dim(0) : past && past->size() == 4 ? (*past)[2] : Dim();
  const Constant* total = context.input_value(6);
  const bool knows = total && total->elements.size() == 1 && total->elements[0].is_integer();
  const Dim all = knows ? total->elements[0].dim() : Dim();
  const Shape* turns = context.has_input(7) ? context.input_shape(7) : nullptr;
  if (!all.is_unknown() && turns && turns->size() == 2) context.demand(SizeRelation::at_most, all, (*turns)[0]);
  if (context.integer("sliding_window_cache", 0) != 0) {
    if (held.is_unknown()) return held;
    // Rows that are not full, and those of a cache larger than its window, are left open.
    const SizeRelation relation = held.is_constant() ? SizeRelation::at_most : SizeRelation::equal;
    context.demand(relation, positive(context.find_integer("local_window_size")), held);
    return held;
  }
  if (!all.is_unknown() && !held.is_unknown()) {
    context.demand(SizeRelation::at_most, all, context.dims().add(held, rows));
    return context.dims().max(held, all);
  }
  return context.data_dependent("total_length",
                                "the total of past and new positions, or the length of a shared buffer");
}

/// Without a key the query holds all three, as many heads as num_heads + 2 * kv_num_heads.
void infer_group_query_attention(InferContext& context) {
  const Shape* query = context.input_shape(0);
  if (rank_differs(context, 0, 3) || !query) return;
  DimPool& dims = context.dims();
  const Dim heads = positive(context.find_integer("num_heads"));
  const Dim kv_heads = positive(context.find_integer("kv_num_heads"));
  const bool packed = !context.has_input(1);
  const Dim all_heads = packed ? dims.add(heads, dims.mul(kv_heads, 2)) : heads;
  const Dim size = divided_microsoft(context, (*query)[2], all_heads);
  if ((*query)[2].is_constant() && all_heads.is_constant() && size.is_unknown()) {
    context.error({.code = "divisibility",
                   .at = at_input(0),
                   .message = "the hidden size is not a multiple of the number of heads",
                   .expected = fmt::format("a multiple of {}", context.text(all_heads)),
                   .found = context.text((*query)[2])});
    return;
  }
  context.set_shape(0, {(*query)[0], (*query)[1], packed ? dims.mul(heads, size) : (*query)[2]});
  for (const std::size_t output : {std::size_t{1}, std::size_t{2}}) {
    if (!context.has_output(output)) continue;
    context.set_elem(output, context.input_elem(context.has_input(3) ? 3 : 0));
    context.set_shape(output, {(*query)[0], kv_heads, cache_length(context, (*query)[1]), size});
  }
}

void infer_embed_normalization(InferContext& context) {
  const Shape* ids = context.input_shape(0);
  const Shape* words = context.input_shape(2);
  if (!ids || ids->size() != 2 || !words || words->size() != 2) return;
  context.set_shape(0, {(*ids)[0], (*ids)[1], (*words)[1]});
  context.set_shape(1, {(*ids)[0]});
  context.set_elem(2, context.output_type(0).elem);
  context.set_shape(2, {(*ids)[0], (*ids)[1], (*words)[1]});
}

// ---- the rest

void infer_hash(InferContext& context) {
  context.set_elem(0, context.integer("positive", 1) != 0 ? ElementType::uint32 : ElementType::int32);
  context.copy_shape(0, 0);
}

void infer_grid_sample_microsoft(InferContext& context) { context.set_elem(0, context.input_elem(0)); }

void infer_blocked_scores(InferContext& context) { context.copy_shape(1, 0); }

void infer_tokenizer(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape) return;
  Shape result = *shape;
  result.push_back(context.data_dependent("tokens", "the greatest number of tokens"));
  context.set_shape(0, std::move(result));
}

void infer_global_average_pool(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape || shape->size() < 3) return;
  Shape result(shape->size(), Dim(1));
  const std::size_t channel = context.integer("channels_last") != 0 ? shape->size() - 1 : 1;
  result[0] = (*shape)[0];
  result[channel] = (*shape)[channel];
  context.set_shape(0, std::move(result));
}

/// Over `axes`, or all.
void infer_reduced_microsoft(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape) return;
  const auto axes = context.integers("axes");
  std::vector<bool> goes(shape->size(), !axes || axes->empty());
  for (const std::int64_t given : axes.value_or(std::vector<std::int64_t>())) {
    const auto axis = resolve_axis(context, given, shape->size(), at_attribute("axes"));
    if (!axis) return;
    goes[*axis] = true;
  }
  const bool keeps = context.integer("keepdims", 1) != 0;
  Shape result;
  for (std::size_t i = 0; i < goes.size(); ++i) {
    if (!goes[i] || keeps) result.push_back(goes[i] ? Dim(1) : (*shape)[i]);
  }
  context.set_shape(0, std::move(result));
}

/// Sums of 8-bit numbers in 32 bits of the same kind.
void infer_integer_sum(InferContext& context) {
  const ElementType type = context.input_elem(0);
  if (type == ElementType::int8) context.set_elem(0, ElementType::int32);
  if (type == ElementType::uint8) context.set_elem(0, ElementType::uint32);
  infer_reduced_microsoft(context);
}

void infer_one_truth_value(InferContext& context) { context.set_tensor(0, ElementType::boolean, {}); }

/// Bytes hold several numbers, side by side along the last axis.
void infer_gathered_blocks(InferContext& context) {
  const Shape* data = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (!data || !indices || data->empty()) return;
  const auto axis = resolve_axis(context, context.integer("gather_axis"), data->size(), at_attribute("gather_axis"));
  const std::int64_t bits = context.integer("bits", 4);
  if (!axis || (bits != 2 && bits != 4 && bits != 8)) return;
  Shape numbers = *data;
  if (context.input_elem(0) == ElementType::uint8) numbers.back() = context.dims().mul(numbers.back(), 8 / bits);
  Shape result(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(*axis));
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), numbers.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, numbers.end());
  context.set_shape(0, std::move(result));
}

/// Inputs come in threes (tensor, scale, zero point) behind the result's scale and zero point.
void infer_qlinear_concat(InferContext& context) {
  const Shape* first = context.input_shape(2);
  if (!first) return;
  const auto axis = resolve_axis(context, context.integer("axis"), first->size(), at_attribute("axis"));
  if (!axis) return;
  Shape result = *first;
  for (std::size_t i = 5; i < context.input_count(); i += 3) {
    const Shape* next = context.input_shape(i);
    if (rank_differs(context, i, result.size())) return;
    result[*axis] = next ? context.dims().add(result[*axis], (*next)[*axis]) : Dim();
  }
  context.set_shape(0, std::move(result));
}

void infer_distance(InferContext& context) {
  const Shape* a = context.input_shape(0);
  const Shape* b = context.input_shape(1);
  if (rank_differs(context, 0, 2) || rank_differs(context, 1, 2) || !a || !b) return;
  if (!inner_sizes_differ(context, (*a)[1], (*b)[1], 1)) context.set_shape(0, {(*a)[0], (*b)[0]});
}

void infer_expand_dims(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const auto axis = context.constant_integer(1);
  if (!shape || !axis) return;
  const auto resolved = resolve_axis(context, *axis, shape->size() + 1, at_input(1));
  if (!resolved) return;
  Shape result = *shape;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(*resolved), Dim(1));
  context.set_shape(0, std::move(result));
}

/// Slices along an axis as a new last one.
void infer_unfolded(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const std::int64_t size = context.integer("size"), step = context.integer("step", 1);
  if (!shape || size < 1 || step < 1) return;
  const auto axis = resolve_axis(context, context.integer("dim", -1), shape->size(), at_attribute("dim"));
  if (!axis) return;
  Shape result = *shape;
  Dim& count = result[*axis];
  count = context.dims().add(context.dims().floor_div(context.dims().add(count, -size), step), 1);
  result.emplace_back(size);
  context.set_shape(0, std::move(result));
}

}  // namespace

void register_microsoft(InferRegistry& registry) {
  const auto add = [&registry](std::initializer_list<const char*> ops, InferFunction function,
                               const InferTraits& traits = {}) {
    for (const char* op : ops) registry.add(domain_microsoft, op, all_versions(), function, traits);
  };
  add({"BiasAdd",
       "BiasGelu",
       "BiasSoftmax",
       "BranchwiseRMSNorm",
       "DequantizeLinear",
       "DequantizeWithOrder",
       "FastGelu",
       "GatedAdd",
       "GatedRMSNorm",
       "Gelu",
       "GroupNorm",
       "Inverse",
       "LongformerAttention",
       "QLinearLeakyRelu",
       "QLinearSigmoid",
       "QLinearSoftmax",
       "MRotaryEmbedding",
       "QOrderedGelu",
       "QuantizeLinear",
       "QuantizeWithOrder",
       "QuickGelu",
       "RotaryEmbedding",
       "ScaledSiLU",
       "Trilu",
       "QOrderedLayerNormalization"},
      infer_same_microsoft);
  add({"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}, infer_skip_normalization);
  add({"BiasDropout"}, infer_bias_dropout);
  add({"BiasSplitGelu"}, infer_bias_split_gelu);
  add({"QLinearAdd", "QLinearMul"}, infer_broadcast_microsoft<0, 3>);
  add({"MulInteger"}, infer_broadcast_microsoft<0, 2>);
  add({"QLinearWhere"}, infer_broadcast_microsoft<0, 1, 4>);
  add({"FusedMatMul"}, infer_matmul_microsoft, {.cost = cost::matmul});
  add({"FusedMatMulActivation", "TransposeMatMul", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "GemmFastGelu"},
      infer_matmul_microsoft, {.cost = cost::matmul});
  add({"MatMulInteger16"}, infer_integer_matmul, {.cost = cost::matmul});
  add({"MatMulNBits", "MatMulBnb4"}, infer_packed_matmul, {.cost = cost::matmul});
  add({"FusedGemm"}, infer_gemm_microsoft<1>, {.cost = cost::gemm});
  add({"QGemm"}, infer_qgemm, {.cost = cost::gemm});
  add({"Attention"}, infer_attention_microsoft<4, 0>, {.cost = cost::projected_attention<4>});
  add({"QAttention"}, infer_attention_microsoft<8, 2>, {.cost = cost::projected_attention<8>});
  add({"MultiHeadAttention", "DecoderMaskedMultiHeadAttention"}, infer_multi_head_attention,
      {.cost = cost::multi_head_attention});
  add({"GroupQueryAttention"}, infer_group_query_attention, {.cost = cost::group_query_attention});
  add({"MoE"}, infer_same_microsoft, {.cost = cost::mixture_of_experts<4>});
  add({"QMoE"}, infer_same_microsoft, {.cost = cost::mixture_of_experts<5>});
  add({"EmbedLayerNormalization"}, infer_embed_normalization, {.inputs = {{0, Role::row, 2}, {1, Role::row, 4}}});
  add({"QEmbedLayerNormalization"}, infer_embed_normalization, {.inputs = {{0, Role::row, 2}, {1, Role::row, 4}}});
  add({"LinearAttentionGate", "SkipGroupNorm"}, infer_two_alike);
  add({"QLinearReduceMean"}, infer_reduced_microsoft);
  add({"GatherBlockQuantized"}, infer_gathered_blocks, {.inputs = {{1, Role::row, 0}}});
  add({"Tokenizer"}, infer_tokenizer);
  add({"MurmurHash3"}, infer_hash);
  add({"ReduceSumInteger"}, infer_integer_sum);
  add({"IsAllFinite"}, infer_one_truth_value);
  add({"GridSample"}, infer_grid_sample_microsoft);
  add({"NGramRepeatBlock"}, infer_blocked_scores);
  add({"QLinearGlobalAveragePool"}, infer_global_average_pool);
  add({"QLinearConcat"}, infer_qlinear_concat);
  add({"CDist"}, infer_distance, {.cost = cost::matmul, .inputs = {{0, Role::compared, 1}, {1, Role::compared, 0}}});
  add({"ExpandDims"}, infer_expand_dims);
  add({"UnfoldTensor"}, infer_unfolded);
}

}  // namespace onnxkit::checker
