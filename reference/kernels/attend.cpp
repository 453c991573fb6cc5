#include "reference/kernels/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/kernels/broadcast.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

constexpr std::int64_t heads_first[] = {0, 2, 1, 3};
constexpr double attend_infinity = std::numeric_limits<double>::infinity();

/// The query heads that share a key head become more queries of that one.
Tensor grouped(const Tensor& x, std::int64_t kv_heads) {
  const std::int64_t shared = x.dim(1) / kv_heads;
  return x.reshaped({x.dim(0), kv_heads, shared * x.dim(2), x.dim(3)});
}

Tensor ungrouped(const Tensor& x, const Tensor& like) {
  return x.reshaped({like.dim(0), like.dim(1), like.dim(2), x.dim(3)});
}

void softmax_row(std::span<double> row, EmptyRow empty) {
  const double most = *std::max_element(row.begin(), row.end());
  if (most == -attend_infinity && empty == EmptyRow::zero) {
    // NaN is no maximum; it must not vanish.
    if (std::none_of(row.begin(), row.end(), [](double x) { return std::isnan(x); })) {
      std::fill(row.begin(), row.end(), 0.0);
      return;
    }
  }
  double sum = 0;
  for (double& x : row) sum += x = std::exp(x - most);
  for (double& x : row) x /= sum;
}

}  // namespace

Tensor unpack_heads(const KernelContext& context, const Tensor& x, std::int64_t heads) {
  require(x.rank() == 3, "packed heads must have rank 3");
  require(heads > 0 && x.dim(2) % heads == 0, "the last axis is not divisible by the number of heads");
  return permute(context, x.reshaped({x.dim(0), x.dim(1), heads, x.dim(2) / heads}), heads_first);
}

Tensor pack_heads(const KernelContext& context, const Tensor& x) {
  return permute(context, x, heads_first).reshaped({x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

void require_attention_shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  require(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, "queries, keys and values must have four axes");
  require(q.dim(0) == k.dim(0) && q.dim(0) == v.dim(0), "queries, keys and values must have the same batch size");
  require(k.dim(1) == v.dim(1) && k.dim(1) > 0 && q.dim(1) % k.dim(1) == 0,
          "the number of query heads must be a multiple of the number of key and value heads");
  require(k.dim(2) == v.dim(2), "there must be one value per key");
  require(q.dim(3) == k.dim(3), "query heads and key heads must have the same size");
}

Tensor attention_scores(const KernelContext& context, const Tensor& q, const Tensor& k, double scale) {
  constexpr std::int64_t keys_last[] = {0, 1, 3, 2};
  Tensor scores = ungrouped(matrix_product(context, grouped(q, k.dim(1)), permute(context, k, keys_last)), q);
  for (double& score : scores.write<double>()) score *= scale;
  return scores;
}

Tensor weigh_values(const KernelContext& context, const Tensor& weights, const Tensor& v) {
  return ungrouped(matrix_product(context, grouped(weights, v.dim(1)), v), weights);
}

Tensor additive_mask(const KernelContext& context, const Tensor& mask, ElementType type, const Dims& dims) {
  const Tensor added = dispatch_scalars(mask.domain(), [&]<class T>(std::type_identity<T>) {
    return map<T, double>(context, mask, type, [](T x) {
      if constexpr (std::is_same_v<T, bool>)
        return x ? 0.0 : -attend_infinity;
      else
        return static_cast<double>(x);
    });
  });
  return expand(context, added, dims);
}

void softmax_rows(const KernelContext& context, Tensor& scores, EmptyRow empty) {
  const std::int64_t length = scores.dims().back();
  if (scores.size() == 0) return;
  const std::span<double> all = scores.write<double>();
  context.for_range(scores.size() / length, 1 + (1 << 13) / length, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row)
      softmax_row(all.subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length)), empty);
  });
}

Tensor rotate_pairs(const KernelContext& context, const Tensor& x, const Tensor& cosines, const Tensor& sines,
                    std::span<const std::int64_t> rows, bool interleaved) {
  const std::int64_t heads = x.dim(1), length = x.dim(2), size = x.dim(3), pairs = cosines.dim(1);
  require(2 * pairs <= size, "rotary_embedding_dim is larger than a head");
  for (const std::int64_t row : rows) require(0 <= row && row < cosines.dim(0), "a position id is outside the caches");
  Tensor y = x;
  double* const all = y.write<double>().data();
  const std::span<const double> cosine = cosines.as<double>(), sine = sines.as<double>();
  context.for_range(x.dim(0) * heads * length, 1 + (1 << 13) / std::max<std::int64_t>(1, size),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i) {
                        const std::int64_t batch = i / (heads * length), time = i % length;
                        const std::int64_t angles = rows[static_cast<std::size_t>(batch * length + time)] * pairs;
                        double* const head = all + i * size;
                        for (std::int64_t pair = 0; pair < pairs; ++pair) {
                          double& a = head[interleaved ? 2 * pair : pair];
                          double& b = head[interleaved ? 2 * pair + 1 : pair + pairs];
                          const auto angle = static_cast<std::size_t>(angles + pair);
                          const double real = cosine[angle] * a - sine[angle] * b,
                                       imaginary = sine[angle] * a + cosine[angle] * b;
                          a = real;
                          b = imaginary;
                        }
                      }
                    });
  return y;
}

Tensor rounded(const KernelContext& context, const Tensor& x, ElementType type) {
  Tensor y = x.retyped(type);
  if (!context.is_unrounded()) round_to(type, y.write<double>());
  return y;
}

}  // namespace onnxkit::reference
