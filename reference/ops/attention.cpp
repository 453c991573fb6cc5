// Attention: softmax(scale * Q K^T + bias) V with heads on an axis of their own or packed into the last one, and FlexAttention, whose scores
// and probabilities pass through bodies.
//   24: nonpad_kv_seqlen, and masks that are shorter than the keys. 25: window sizes.
#include "reference/kernels/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "libonnxkit/spec/pattern_attributes.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

constexpr double infinity_attention = std::numeric_limits<double>::infinity();

enum Input : std::size_t { query, key, value, mask, past_key, past_value, valid_lengths };
enum Output : std::size_t { result, present_key, present_value, scores_seen };
/// What the output of scores shows, by qk_matmul_output_mode.
enum Stage : std::int64_t { raw, capped, biased, weights };

double scale_of(const KernelContext& context, const Tensor& q) {
  if (const auto scale = context.find_real("scale")) return *scale;
  return 1 / std::sqrt(static_cast<double>(q.dim(3)));
}

Tensor unpacked(const KernelContext& context, std::size_t input, std::string_view heads) {
  const Tensor& x = context.input(input);
  return x.rank() == 3 ? unpack_heads(context, x, context.integer(heads)) : x;
}

/// Past and new keys or values.
Tensor present(const KernelContext& context, std::size_t past, const Tensor& now) {
  const Tensor* before = context.find_input(past);
  if (!before) return now;
  require(before->rank() == 4, "past keys and values must have rank 4");
  const Tensor* const parts[] = {before, &now};
  return concat(context, parts, 2);
}

/// Which keys a query may see, by position alone.
class Visibility {
 public:
  Visibility(const KernelContext& context, std::int64_t batch, std::int64_t length, std::int64_t total)
      : causal_(context.integer("is_causal") != 0),
        left_(context.integer("left_window_size", -1)),
        right_(context.integer("right_window_size", -1)),
        offsets_(static_cast<std::size_t>(batch)),
        valid_(static_cast<std::size_t>(batch), total) {
    if (const Tensor* lengths = context.find_input(valid_lengths)) {
      valid_ = lengths->integers();
      require(lengths->size() == batch, "nonpad_kv_seqlen must have one length per sequence of the batch");
      for (std::size_t b = 0; b < valid_.size(); ++b) {
        require(0 <= valid_[b] && valid_[b] <= total, "nonpad_kv_seqlen exceeds the number of keys");
        offsets_[b] = valid_[b] - length;
      }
    } else if (const Tensor* past = context.find_input(past_key)) {
      std::fill(offsets_.begin(), offsets_.end(), past->dim(2));
    }
  }

  bool sees(std::int64_t batch, std::int64_t query_index, std::int64_t key_index) const {
    const std::int64_t behind = offsets_[static_cast<std::size_t>(batch)] + query_index - key_index;
    return key_index < valid_[static_cast<std::size_t>(batch)] && !(causal_ && behind < 0) &&
           !(left_ >= 0 && behind > left_) && !(right_ >= 0 && -behind > right_);
  }

 private:
  bool causal_;
  std::int64_t left_, right_;
  std::vector<std::int64_t> offsets_;  ///< position of the first query among the keys
  std::vector<std::int64_t> valid_;
};

/// What is added to the scores.
Tensor attention_bias(const KernelContext& context, const Tensor& scores) {
  Tensor bias = context.make(scores.type(), scores.dims());
  const std::int64_t heads = scores.dim(1), length = scores.dim(2), total = scores.dim(3);
  if (const Tensor* given = context.find_input(mask)) {
    Tensor whole = *given;
    if (context.since() >= 24 && whole.rank() > 0 && whole.dims().back() < total) {
      std::vector<std::vector<std::int64_t>> index;
      for (const std::int64_t size : whole.dims()) index.push_back(identity_index(size));
      index.back().resize(static_cast<std::size_t>(total), no_source);
      const Tensor nothing = additive_mask(context, context.make(ElementType::boolean, {}), scores.type(), {});
      whole = select(context, additive_mask(context, whole, scores.type(), whole.dims()), index, &nothing);
    }
    bias = additive_mask(context, whole, scores.type(), scores.dims());
  }
  const Visibility visibility(context, scores.dim(0), length, total);
  const std::span<double> all = bias.write<double>();
  context.for_range(scores.dim(0) * heads * length, 1 + (1 << 13) / (1 + total),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t row = first; row < last; ++row) {
                        const std::int64_t batch = row / (heads * length), query_index = row % length;
                        for (std::int64_t j = 0; j < total; ++j) {
                          if (!visibility.sees(batch, query_index, j))
                            all[static_cast<std::size_t>(row * total + j)] += -infinity_attention;
                        }
                      }
                    });
  return bias;
}

/// Rows that may see no key weigh none, whatever their scores are.
void clear_masked_rows(Tensor& probabilities, const Tensor& bias) {
  const std::int64_t total = bias.dim(3);
  if (bias.size() == 0) return;
  const std::span<const double> added = bias.as<double>();
  const std::span<double> all = probabilities.write<double>();
  for (std::size_t at = 0; at < all.size(); at += static_cast<std::size_t>(total)) {
    const auto row = added.subspan(at, static_cast<std::size_t>(total));
    if (std::all_of(row.begin(), row.end(), [](double x) { return x == -infinity_attention; }))
      std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(at), total, 0.0);
  }
}

/// The type that the attribute softmax_precision names.
std::optional<ElementType> softmax_type(const KernelContext& context) {
  const auto stated = context.find_integer("softmax_precision");
  if (!stated) return std::nullopt;
  for (const ElementType type :
       {ElementType::float32, ElementType::float16, ElementType::float64, ElementType::bfloat16}) {
    if (*stated == static_cast<std::int64_t>(type)) return type;
  }
  throw Fault("softmax_precision must be float, float16, double or bfloat16");
}

void attention(KernelContext& context) {
  const bool packed = context.input(query).rank() == 3;
  const Tensor q = unpacked(context, query, "q_num_heads");
  const Tensor k = present(context, past_key, unpacked(context, key, "kv_num_heads"));
  const Tensor v = present(context, past_value, unpacked(context, value, "kv_num_heads"));
  require_attention_shapes(q, k, v);
  const std::int64_t stage = context.integer("qk_matmul_output_mode");
  const auto show = [&](Stage reached, const Tensor& scores) {
    if (stage == reached) context.set_output(scores_seen, scores.retyped(q.type()));
  };

  Tensor scores = attention_scores(context, q, k, scale_of(context, q));
  show(raw, scores);
  const double cap = context.real("softcap");
  const auto capping = [cap](double x) { return cap * std::tanh(x / cap); };
  if (cap > 0) scores = map<double, double>(context, scores, q.type(), capping);
  show(capped, scores);
  const Tensor bias = attention_bias(context, scores);
  const bool replaces = context.has_attribute(spec::mask_replaces);
  const auto masked = [replaces](double score, double mask) { return replaces && mask != 0 ? mask : score + mask; };
  scores = map<double, double, double>(context, scores, bias, q.type(), masked);
  show(biased, scores);
  const auto precision = softmax_type(context);
  if (precision) scores = rounded(context, scores, *precision);
  const bool is_softmax = context.has_attribute(spec::nan_without_keys);
  softmax_rows(context, scores, is_softmax ? EmptyRow::nan : EmptyRow::zero);
  if (precision) scores = rounded(context, scores, *precision);
  if (!is_softmax) clear_masked_rows(scores, bias);
  show(weights, scores);

  const Tensor y = weigh_values(context, scores.retyped(q.type()), v);
  context.set_output(result, packed ? pack_heads(context, y) : y);
  context.set_output(present_key, k);
  context.set_output(present_value, v);
}

/// The body's answer to a tensor, of the same type and dims; the tensor itself where there is no body.
Tensor modified(KernelContext& context, std::string_view body, const Tensor& x) {
  if (!context.graph(body)) return x;
  const std::vector<Value> outputs = context.run_body(body, {Value(x)});
  require(outputs.size() == 1 && outputs[0].kind == ValueKind::tensor && outputs[0].tensor.dims() == x.dims() &&
              outputs[0].tensor.type() == x.type(),
          "a body of FlexAttention must return one tensor with the type and dims of its input");
  return outputs[0].tensor;
}

void flex_attention(KernelContext& context) {
  const Tensor& q = context.input(query);
  const Tensor& v = context.input(value);
  require_attention_shapes(q, context.input(key), v);
  const ElementType precision =
      softmax_type(context).value_or(q.type() == ElementType::float64 ? q.type() : ElementType::float32);

  Tensor scores = attention_scores(context, q, context.input(key), scale_of(context, q));
  scores = modified(context, "score_mod", rounded(context, scores, precision));
  softmax_rows(context, scores, EmptyRow::nan);
  scores = modified(context, "prob_mod", rounded(context, scores, precision));
  context.set_output(result, weigh_values(context, scores, v.retyped(precision)).retyped(q.type()));
}

}  // namespace

void register_attention(KernelRegistry& registry) {
  registry.add("Attention", all_versions(), attention, {.noise = noise::ordinary});
  registry.add("ai.onnx.preview", "FlexAttention", all_versions(), flex_attention, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
