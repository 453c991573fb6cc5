#pragma once

#include <span>

#include "reference/executor/kernel.h"
#include "reference/executor/tensor.h"

// The steps of scaled dot-product attention, over queries [batch, heads, length, size], keys [batch, kv_heads, total, size] and values
// [batch, kv_heads, total, value_size]. heads is a multiple of kv_heads: query head h uses key head h / (heads / kv_heads).
namespace onnxkit::reference {

/// [batch, length, heads * size] as [batch, heads, length, size].
Tensor unpack_heads(const KernelContext& context, const Tensor& x, std::int64_t heads);
/// The way back.
Tensor pack_heads(const KernelContext& context, const Tensor& x);

/// Fault unless the three fit each other as said above.
void require_attention_shapes(const Tensor& q, const Tensor& k, const Tensor& v);

/// scale * q k^T: [batch, heads, length, total].
Tensor attention_scores(const KernelContext& context, const Tensor& q, const Tensor& k, double scale);
/// weights [batch, heads, length, total] times values: [batch, heads, length, value_size].
Tensor weigh_values(const KernelContext& context, const Tensor& weights, const Tensor& v);

/// A mask as what is added to scores of these dims, of the scores' type: 0 where a boolean one is true and -infinity where it is not, others as
/// they are.
Tensor additive_mask(const KernelContext& context, const Tensor& mask, ElementType type, const Dims& dims);

/// What softmax makes of a row in which everything is -infinity.
enum class EmptyRow { nan, zero };
/// Softmax along the last axis, in place.
void softmax_rows(const KernelContext& context, Tensor& scores, EmptyRow empty);

/// Turns the pairs at the front of each head of x [batch, heads, length, size]; position t of sequence b is turned by the angles in row
/// rows[b * length + t] of the caches [count, pairs]. A pair stands side by side when interleaved, else at the same index of both halves.
Tensor rotate_pairs(const KernelContext& context, const Tensor& x, const Tensor& cosines, const Tensor& sines,
                    std::span<const std::int64_t> rows, bool interleaved);

/// x as a tensor of another floating type, rounded where the run rounds at all.
Tensor rounded(const KernelContext& context, const Tensor& x, ElementType type);

}  // namespace onnxkit::reference
