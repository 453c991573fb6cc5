// com.microsoft: attention of several heads, plain and quantized, with cached keys and values, masks and rotary positions.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "reference/kernels/attend.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/select.h"
#include "reference/noise/noise.h"
#include "reference/numerics/arithmetic.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

/// Where a row of scores is: what it belongs to, for masks and biases.
struct ScoreRow {
  std::int64_t batch, head, query;
};

struct AttentionResult {
  Tensor y, scores, weights;
};

/// softmax(finish(scale * q * k^T)) * v; q is [B, N, S, H], k and v are [B, M, T, .] with N a multiple of M. `finish` adds masks and biases to a
/// row of scores and gives what else goes into the denominator, as the logarithm of a summand.
AttentionResult attend(const KernelContext& context, const Tensor& q, const Tensor& k, const Tensor& v, double scale,
                       const std::function<double(ScoreRow, std::span<double>)>& finish) {
  require_attention_shapes(q, k, v);
  AttentionResult result{{}, attention_scores(context, q, k, scale), {}};
  result.weights = context.make(real_type, result.scores.dims());
  const std::int64_t heads = q.dim(1), rows = q.dim(2), length = k.dim(2);
  double* const scores = result.scores.write<double>().data();
  double* const weights = result.weights.write<double>().data();
  context.for_range(q.dim(0) * heads * rows, 16, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      const std::span<double> row(scores + r * length, static_cast<std::size_t>(length));
      const double extra = finish({r / rows / heads, r / rows % heads, r % rows}, row);
      double most = extra;
      for (const double x : row) most = std::max(most, x);
      if (most == nothing) continue;  // all masked: weights of 0
      double sum = std::exp(extra - most);
      double* const weight = weights + r * length;
      for (std::int64_t t = 0; t < length; ++t) sum += weight[t] = std::exp(scores[r * length + t] - most);
      for (std::int64_t t = 0; t < length; ++t) weight[t] /= sum;
    }
  });
  result.y = weigh_values(context, result.weights, v);
  return result;
}

double scale_of_microsoft(const KernelContext& context, std::int64_t head_size) {
  const double given = context.real("scale");
  return given != 0 ? given : 1 / std::sqrt(static_cast<double>(head_size));
}

// ---- masks

/// [B or 1, N or 1, S, T] added to scores.
class Bias {
 public:
  Bias(const Tensor* given, std::int64_t rows, std::int64_t length) : given_(given), rows_(rows), length_(length) {
    require(!given || (given->rank() == 4 && given->dim(2) == rows && given->dim(3) >= length),
            "attention_bias does not have the shape of the scores");
  }
  void check(std::int64_t batch, std::int64_t heads) const {
    require(!given_ ||
                ((given_->dim(0) == batch || given_->dim(0) == 1) && (given_->dim(1) == heads || given_->dim(1) == 1)),
            "attention_bias does not broadcast to the scores");
  }
  void add(ScoreRow at, std::span<double> row) const {
    if (!given_) return;
    const std::int64_t b = given_->dim(0) == 1 ? 0 : at.batch, n = given_->dim(1) == 1 ? 0 : at.head;
    const std::int64_t first = ((b * given_->dim(1) + n) * rows_ + at.query) * given_->dim(3);
    for (std::int64_t t = 0; t < length_; ++t)
      row[static_cast<std::size_t>(t)] += given_->as<double>()[static_cast<std::size_t>(first + t)];
  }

 private:
  const Tensor* given_;
  std::int64_t rows_, length_;
};

/// The many forms of mask_index and key_padding_mask: what is masked gets mask_filter_value added.
class Mask {
 public:
  Mask(const KernelContext& context, const Tensor* given, std::int64_t batch, std::int64_t rows, std::int64_t length)
      : filter_(context.real("mask_filter_value", -10000)), batch_(batch), rows_(rows), length_(length) {
    if (!given) return;
    dims_ = given->dims();
    numbers_ = given->integers();
    const bool known = dims_ == Dims{batch} || dims_ == Dims{2 * batch} || dims_ == Dims{batch, length} ||
                       dims_ == Dims{batch, rows, length} ||
                       (dims_.size() == 4 && dims_[0] == batch && dims_[1] == 1 && dims_[2] == dims_[3] &&
                        dims_[3] >= length && length >= rows);
    require(known, "the shape of the mask does not match the scores");
  }
  void add(ScoreRow at, std::span<double> row) const {
    if (numbers_.empty()) return;
    for (std::int64_t t = 0; t < length_; ++t) {
      if (!visible(at, t)) row[static_cast<std::size_t>(t)] += filter_;
    }
  }

 private:
  std::int64_t number(std::int64_t i) const { return numbers_[static_cast<std::size_t>(i)]; }
  bool visible(ScoreRow at, std::int64_t t) const {
    switch (dims_.size()) {
      case 1:  // exclusive ends, then perhaps starts
        return t < number(at.batch) && (dims_[0] == batch_ || t >= number(batch_ + at.batch));
      case 2:
        return number(at.batch * length_ + t) != 0;
      case 3:
        return number((at.batch * rows_ + at.query) * length_ + t) != 0;
      default:
        return number((at.batch * dims_[2] + length_ - rows_ + at.query) * dims_[3] + t) != 0;
    }
  }

  double filter_;
  std::int64_t batch_, rows_, length_;
  Dims dims_;
  std::vector<std::int64_t> numbers_;
};

/// Every position sees itself and what lies before it.
void hide_future(ScoreRow at, std::int64_t past, std::span<double> row) {
  for (std::size_t t = static_cast<std::size_t>(std::max<std::int64_t>(0, past + at.query + 1)); t < row.size(); ++t)
    row[t] = nothing;
}

Tensor with_past(const KernelContext& context, const Tensor* past, const Tensor& now) {
  if (!past) return now;
  const Tensor before = as_reals(context, *past);
  require(before.rank() == 4, "past keys and values must be [batch, heads, length, size]");
  const Tensor* parts[] = {&before, &now};
  return concat(context, parts, 2);
}

// ---- Attention

/// Where Attention and QAttention have what they share.
struct AttentionInputs {
  Tensor projected;  ///< queries, keys and values beside each other
  const Tensor *mask, *past, *bias;
  ElementType type;
};

void attend_projected(KernelContext& context, const AttentionInputs& in) {
  require(context.integer("do_rotary") == 0 && context.integer("past_present_share_buffer") == 0,
          "rotary positions and shared buffers are not supported");
  const std::int64_t heads = context.integer("num_heads"), total = in.projected.dim(2), third = total / 3;
  const Dims sizes = context.integers("qkv_hidden_sizes").value_or(Dims{third, third, third});
  require(sizes.size() == 3 && sizes[0] >= 0 && sizes[1] >= 0 && sizes[0] <= total && sizes[1] <= total - sizes[0] &&
              sizes[2] == total - sizes[0] - sizes[1],
          "the sizes of queries, keys and values do not add up to the columns of the weights");
  const auto part = [&](std::int64_t first, std::int64_t size) {
    return unpack_heads(context, slice_axis(context, in.projected, 2, first, first + size), heads);
  };
  const Tensor q = part(0, sizes[0]);
  Tensor k = part(sizes[0], sizes[1]), v = part(sizes[0] + sizes[1], sizes[2]);
  if (in.past) {
    require(in.past->rank() == 5 && in.past->dim(0) == 2, "past must be [2, batch, heads, length, size]");
    const auto half = [&](std::int64_t i) {
      const Dims dims(in.past->dims().begin() + 1, in.past->dims().end());
      return slice_axis(context, *in.past, 0, i, i + 1).reshaped(dims);
    };
    const Tensor past_k = half(0), past_v = half(1);
    k = with_past(context, &past_k, k);
    v = with_past(context, &past_v, v);
  }
  const std::int64_t batch = q.dim(0), rows = q.dim(2), length = k.dim(2), past = length - rows;
  const Mask mask(context, in.mask, batch, rows, length);
  const Bias bias(in.bias, rows, length);
  bias.check(batch, heads);
  const bool causal = context.integer("unidirectional") != 0;
  const AttentionResult result =
      attend(context, q, k, v, scale_of_microsoft(context, q.dim(3)), [&](ScoreRow at, std::span<double> row) {
        mask.add(at, row);
        bias.add(at, row);
        if (causal) hide_future(at, past, row);
        return nothing;
      });
  context.set_output(0, pack_heads(context, result.y).retyped(in.type));
  if (!context.has_output(1)) return;
  const Tensor* both[] = {&k, &v};
  Dims dims = k.dims();
  dims.insert(dims.begin(), 2);
  require(k.dims() == v.dims(), "keys and values of different sizes cannot be stacked");
  context.set_output(1, concat(context, both, 0).reshaped(std::move(dims)).retyped(in.type));
}

/// x * weights + bias, [batch, length, size of queries, keys and values].
Tensor projection(const KernelContext& context, const Tensor& x, const Tensor& weights, const Tensor* bias) {
  require(x.rank() == 3 && weights.rank() == 2, "the input must be [batch, length, size] and the weights a matrix");
  const Tensor product = matrix_product(context, x, weights);
  if (!bias) return product;
  require(bias->rank() == 1 && bias->size() == product.dim(2), "the bias must have one element per column");
  return sum_of(context, product, *bias);
}

void attention_microsoft(KernelContext& context) {
  const Tensor x = as_reals(context, context.input(0)), weights = as_reals(context, context.input(1));
  attend_projected(context, {projection(context, x, weights, context.find_input(2)), context.find_input(3),
                             context.find_input(4), context.find_input(5), context.input(0).type()});
}

/// Attention on quantized inputs and weights, which are summed up exactly; scales and zero points of the weights may be one for each column.
void quantized_attention(KernelContext& context) {
  const Tensor* zero = context.find_input(7);
  const Tensor scales = context.input(4).size() == 1 ? context.input(4).reshaped({}) : context.input(4);
  const Tensor zeros = zero && zero->size() == 1 ? zero->reshaped({}) : zero ? *zero : Tensor();
  const Affine of_x = affine_at(context, 3, 6);
  const Tensor x = dequantized(context, context.input(0), {1, of_x.zero});
  const Tensor weights = dequantized(context, context.input(1), nullptr, zero ? &zeros : nullptr);
  const Tensor sums = map_reals(context, projection(context, x, weights, nullptr), as_reals(context, scales), real_type,
                                [of_x](double sum, double scale) { return sum * (of_x.scale * scale); });
  constexpr double roundings = 2;
  const Noise* const noise = context.noise();
  const Tensor& bias = context.input(2);
  require(bias.rank() == 1 && bias.size() == sums.dim(2), "the bias must have one element per column");
  attend_projected(context, {sum_of(context, noise ? noise->disturbed(context.threads(), sums, roundings) : sums, bias),
                             context.find_input(5), context.find_input(8), nullptr, bias.type()});
}

// ---- MultiHeadAttention

struct Projections {
  Tensor q, k, v;
};

/// Queries, keys and values as [B, heads, length, size], from any of the packed forms; bias [3 hidden sizes] is added.
Projections projections(const KernelContext& context, std::int64_t heads) {
  const Tensor query = as_reals(context, context.input(0));
  const auto from_packed = [&](const Tensor& packed, std::int64_t i) {
    const Tensor slice = slice_axis(context, packed, 3, i, i + 1);
    return slice.reshaped({packed.dim(0), packed.dim(1), packed.dim(2) * packed.dim(4)});
  };
  Tensor q, k, v;
  if (query.rank() == 5) {
    require(query.dim(3) == 3 && query.dim(2) == heads, "packed queries must be [batch, length, heads, 3, size]");
    q = from_packed(query, 0), k = from_packed(query, 1), v = from_packed(query, 2);
  } else {
    q = query;
    const Tensor key = as_reals(context, context.input(1));
    if (key.rank() == 5) {
      require(key.dim(3) == 2 && key.dim(2) == heads, "packed keys must be [batch, length, heads, 2, size]");
      k = from_packed(key, 0), v = from_packed(key, 1);
    } else {
      k = key, v = as_reals(context, context.input(2));
    }
  }
  require(q.rank() == 3, "the query must be [batch, length, size]");
  if (const Tensor* bias = context.find_input(3)) {
    require(bias->rank() == 1 && bias->size() >= q.dim(2), "the bias must be a vector for queries, keys and values");
    const auto add = [&](Tensor& to, std::int64_t first) {
      require(to.rank() == 3 && first + to.dim(2) <= bias->size(), "the bias is too short");
      to = sum_of(context, to, slice_axis(context, *bias, 0, first, first + to.dim(2)));
    };
    const std::int64_t hidden = q.dim(2);
    add(q, 0);
    if (k.rank() == 3) add(k, hidden), add(v, hidden + k.dim(2));
  }
  const auto heads_of = [&](const Tensor& x) { return x.rank() == 4 ? x : unpack_heads(context, x, heads); };
  return {heads_of(q), heads_of(k), heads_of(v)};
}

void multi_head_attention(KernelContext& context) {
  const ElementType type = context.input(0).type();
  require(!context.has_input(8) && !context.has_input(9), "shared buffers and beams are not supported");
  const std::int64_t heads = context.integer("num_heads");
  Projections p = projections(context, heads);
  const std::int64_t new_length = p.k.dim(2);
  p.k = with_past(context, context.find_input(6), p.k);
  p.v = with_past(context, context.find_input(7), p.v);
  const std::int64_t batch = p.q.dim(0), rows = p.q.dim(2), length = p.k.dim(2), past = length - new_length;
  const Mask mask(context, context.find_input(4), batch, rows, length);
  const Bias bias(context.find_input(5), rows, length);
  bias.check(batch, heads);
  const bool causal = context.integer("unidirectional") != 0;
  const AttentionResult result =
      attend(context, p.q, p.k, p.v, scale_of_microsoft(context, p.q.dim(3)), [&](ScoreRow at, std::span<double> row) {
        mask.add(at, row);
        bias.add(at, row);
        if (causal) hide_future(at, past, row);
        return nothing;
      });
  context.set_output(0, pack_heads(context, result.y).retyped(type));
  context.set_output(1, p.k.retyped(type));
  context.set_output(2, p.v.retyped(type));
  context.set_output(3, result.scores.retyped(type));
}

// ---- rotary positions

/// x [B, N, S, H] turned by the angles of positions[b * S + s].
Tensor turned(const KernelContext& context, const Tensor& x, const Tensor& cosines, const Tensor& sines,
              std::span<const std::int64_t> positions, bool interleaved) {
  require(cosines.rank() == 2 && cosines.dims() == sines.dims(),
          "cos_cache and sin_cache must be matrices of the same shape");
  return rotate_pairs(context, x, cosines, sines, positions, interleaved);
}

// ---- GroupQueryAttention

/// Past and new positions of each sequence of a batch.
struct Lengths {
  std::vector<std::int64_t> past, total;
  std::vector<std::int64_t> held;  ///< of the past positions: the latest ones, where a cache has those of a window only
  std::int64_t buffer;             ///< of the keys and values that are attended to

  /// The position of the first of them.
  std::int64_t first(std::size_t b) const { return past[b] - held[b]; }
};

/// How many of the latest positions a cache of a window holds after `total` positions: it gives up capacity - window + 1 of them at once.
std::int64_t held_of_window(std::int64_t total, std::int64_t capacity, std::int64_t window) {
  if (total <= capacity) return total;
  const std::int64_t at_once = capacity - window + 1;
  return total - at_once * ((total - capacity + at_once - 1) / at_once);
}

Lengths lengths_of(const KernelContext& context, std::int64_t batch, std::int64_t rows) {
  const std::vector<std::int64_t> last = context.input(5).integers();
  const std::int64_t most = context.input(6).integer();
  require(static_cast<std::int64_t>(last.size()) == batch, "seqlens_k must have one length per batch entry");
  require(most >= rows && most < 1 << 30, "total_sequence_length is less than the number of new positions");
  const Tensor* past_key = context.find_input(3);
  const std::int64_t held = past_key && past_key->rank() == 4 ? past_key->dim(2) : 0;
  const std::int64_t window = context.integer("local_window_size", -1);
  const bool is_window = context.integer("sliding_window_cache") != 0;
  require(!is_window || (past_key && window > 0), "a cache of a window needs past keys and local_window_size");
  if (is_window && held < window)
    throw Fault("kernel", fmt::format("the cache holds {} positions, fewer than local_window_size = {}", held, window));
  Lengths lengths{{}, {}, {}, is_window ? held + rows : std::max(held, most)};
  for (const std::int64_t end : last) {
    require(0 <= end && end < most, "a length in seqlens_k exceeds total_sequence_length");
    // In the first run the new positions are all there are, and short sequences are padded behind.
    const std::int64_t past = most == rows ? 0 : end + 1 - rows;
    require(0 <= past && (is_window || past <= held), "the past has fewer positions than seqlens_k");
    lengths.past.push_back(past);
    lengths.held.push_back(is_window ? held_of_window(past, held, window) : past);
    lengths.total.push_back(end + 1);
  }
  return lengths;
}

/// Past positions of each sequence, then its new ones, then zeros.
Tensor present_microsoft(const KernelContext& context, const Tensor* past, const Tensor& now, const Lengths& lengths) {
  Tensor all = context.make(real_type, {now.dim(0), now.dim(1), lengths.buffer, now.dim(3)});
  require(!past || (past->rank() == 4 && past->dim(0) == now.dim(0) && past->dim(1) == now.dim(1) &&
                    past->dim(3) == now.dim(3)),
          "past keys or values do not match the new ones");
  const std::span<double> to = all.write<double>();
  const std::int64_t size = now.dim(3), rows = now.dim(2);
  for (std::int64_t i = 0; i < now.dim(0) * now.dim(1); ++i) {
    const std::int64_t before = lengths.held[static_cast<std::size_t>(i / now.dim(1))];
    const auto first = to.begin() + i * lengths.buffer * size;
    require(!past || before <= past->dim(2), "past keys or values are shorter than seqlens_k");
    if (past) std::copy_n(past->as<double>().begin() + i * past->dim(2) * size, before * size, first);
    require(before + rows <= lengths.buffer, "the new positions exceed the buffer");
    std::copy_n(now.as<double>().begin() + i * rows * size, rows * size, first + before * size);
  }
  return all;
}

/// What a cache of a window of `capacity` positions keeps of all that were attended to: the latest, from its first row on, then zeros.
Tensor kept_microsoft(const KernelContext& context, const Tensor& all, const Lengths& lengths, std::int64_t capacity) {
  Tensor kept = context.make(real_type, {all.dim(0), all.dim(1), capacity, all.dim(3)});
  const std::span<double> to = kept.write<double>();
  const std::int64_t size = all.dim(3), window = context.integer("local_window_size");
  for (std::int64_t i = 0; i < all.dim(0) * all.dim(1); ++i) {
    const auto b = static_cast<std::size_t>(i / all.dim(1));
    const std::int64_t count = held_of_window(lengths.total[b], capacity, window);
    const std::int64_t first = lengths.total[b] - count - lengths.first(b);
    require(first >= 0, "the past has fewer positions than seqlens_k");
    std::copy_n(all.as<double>().begin() + (i * all.dim(2) + first) * size, count * size,
                to.begin() + i * capacity * size);
  }
  return kept;
}

/// Each head of [B, N, S, H] divided by its root mean square.
void normalize_heads(const KernelContext& context, Tensor& x, const Tensor& weight) {
  require(weight.size() == x.dim(3), "a norm weight must have one element per element of a head");
  const double epsilon = context.real("qk_norm_epsilon", 1e-6F);
  const auto size = static_cast<std::size_t>(x.dim(3));
  const std::span<double> all = x.write<double>();
  for (std::size_t at = 0; size > 0 && at < all.size(); at += size) {
    double square = 0;
    for (std::size_t i = 0; i < size; ++i) square += all[at + i] * all[at + i];
    const double by = 1 / std::sqrt(square / static_cast<double>(size) + epsilon);
    for (std::size_t i = 0; i < size; ++i) all[at + i] *= by * weight.as<double>()[i];
  }
}

Projections grouped_projections(const KernelContext& context, std::int64_t heads, std::int64_t kv_heads) {
  const Tensor query = as_reals(context, context.input(0));
  require(query.rank() == 3 && heads > 0 && kv_heads > 0 && heads < 1 << 30 && kv_heads < 1 << 30,
          "the query must be [batch, length, size] with one head or more");
  Projections p;
  if (context.has_input(1)) {
    p = {unpack_heads(context, query, heads), unpack_heads(context, as_reals(context, context.input(1)), kv_heads),
         unpack_heads(context, as_reals(context, context.input(2)), kv_heads)};
  } else {
    const Tensor all = unpack_heads(context, query, heads + 2 * kv_heads);
    p = {slice_axis(context, all, 1, 0, heads), slice_axis(context, all, 1, heads, heads + kv_heads),
         slice_axis(context, all, 1, heads + kv_heads, heads + 2 * kv_heads)};
  }
  require(p.q.dim(2) == p.k.dim(2) && p.k.dim(2) == p.v.dim(2), "new queries, keys and values differ in length");
  if (const Tensor* weight = context.find_input(14)) normalize_heads(context, p.q, *weight);
  if (const Tensor* weight = context.find_input(15)) normalize_heads(context, p.k, *weight);
  return p;
}

void rotate_positions(const KernelContext& context, Projections& p, const Lengths& lengths) {
  const std::int64_t batch = p.q.dim(0), rows = p.q.dim(2);
  const Tensor* given = context.find_input(9);
  require(!given || given->dims() == Dims({batch, rows}), "position_ids must have one entry per position");
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < batch * rows; ++i)
    positions.push_back(lengths.past[static_cast<std::size_t>(i / rows)] + i % rows);
  if (given && rows == context.input(6).integer()) {
    // Of the positions of a first run ONNX Runtime reads the very first one only.
    for (std::int64_t& position : positions) position = add(position, given->as<std::int64_t>()[0]);
  } else if (given) {
    positions = given->integers();
  }
  const bool interleaved = context.integer("rotary_interleaved") != 0;
  for (Tensor* x : {&p.q, &p.k}) *x = turned(context, *x, context.input(7), context.input(8), positions, interleaved);
}

void group_query_attention(KernelContext& context) {
  const ElementType type = context.input(0).type();
  require(context.integer("kv_cache_bit_width") == 0 && !context.has_input(12), "quantized caches are not supported");
  const bool is_window = context.integer("sliding_window_cache") != 0;
  require(!is_window || (!context.has_input(10) && !context.has_output(3)),
          "attention_bias and output_qk are not supported beside a cache of a window");
  const std::int64_t heads = context.integer("num_heads"), kv_heads = context.integer("kv_num_heads");
  Projections p = grouped_projections(context, heads, kv_heads);
  const std::int64_t batch = p.q.dim(0), rows = p.q.dim(2);
  const Lengths lengths = lengths_of(context, batch, rows);
  if (context.integer("do_rotary") != 0) rotate_positions(context, p, lengths);
  const Tensor k = present_microsoft(context, context.find_input(3), p.k, lengths);
  const Tensor v = present_microsoft(context, context.find_input(4), p.v, lengths);

  const std::int64_t window = context.integer("local_window_size", -1);
  const bool causal = context.integer("causal", 1) != 0, smooth = context.integer("smooth_softmax") == 1;
  const double cap = context.real("softcap");
  const Tensor* sinks = context.find_input(11);
  require(!sinks || sinks->size() == heads, "head_sink must have one element per head");
  const std::int64_t most = context.input(6).integer();
  const Bias bias(context.find_input(10), rows, most);
  bias.check(batch, heads);
  const AttentionResult result =
      attend(context, p.q, k, v, scale_of_microsoft(context, p.q.dim(3)), [&](ScoreRow at, std::span<double> row) {
        if (cap > 0)
          for (double& x : row) x = cap * std::tanh(x / cap);
        bias.add(at, row);
        const auto b = static_cast<std::size_t>(at.batch);
        const std::int64_t first = lengths.first(b), here = lengths.past[b] + at.query;
        const std::int64_t end = causal ? std::min(here + 1, lengths.total[b]) : lengths.total[b];
        const std::int64_t start = window > 0 ? here + 1 - window : 0;
        for (std::int64_t t = 0; t < static_cast<std::int64_t>(row.size()); ++t) {
          if (first + t < start || first + t >= end) row[static_cast<std::size_t>(t)] = nothing;
        }
        if (sinks) return sinks->as<double>()[static_cast<std::size_t>(at.head)];
        return smooth ? 0 : nothing;
      });
  context.set_output(0, pack_heads(context, result.y).retyped(type));
  const auto present = [&](const Tensor& all) {
    return is_window ? kept_microsoft(context, all, lengths, context.input(3).dim(2)) : all;
  };
  context.set_output(1, present(k).retyped(type));
  context.set_output(2, present(v).retyped(type));
  if (!context.has_output(3)) return;
  const bool before = context.integer("qk_output") == 1;
  // What is masked counts as not computed.
  const Tensor scores = map_reals(context, before ? result.scores : result.weights, real_type,
                                  [](double x) { return x == nothing ? 0 : x; });
  context.set_output(3, slice_axis(context, scores, 3, 0, most).retyped(type));
}

}  // namespace

void register_microsoft_attention(KernelRegistry& registry) {
  const auto add = [&registry](const char* op, Kernel kernel, const KernelTraits& traits = {}) {
    registry.add(microsoft_domain, op, all_versions(), kernel, traits);
  };
  add("Attention", attention_microsoft, {.noise = noise::ordinary});
  add("QAttention", quantized_attention, {.noise = noise::beside_integers});
  add("MultiHeadAttention", multi_head_attention, {.noise = noise::ordinary});
  add("GroupQueryAttention", group_query_attention, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
