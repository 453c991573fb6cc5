// LinearAttention: a state of each key head, [key size, value size], that every position of the sequence decays, writes to and reads from. Heads are packed
// into the last axis.
#include <algorithm>
#include <cmath>
#include <optional>

#include "reference/kernels/attend.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

/// Of queries, keys and states. Those of the result are the most of them, and each has its part of the others.
struct LinearHeads {
  std::int64_t queries, keys, states;

  std::int64_t results() const { return std::max(queries, states); }
};

struct LinearAttentionOperands {
  LinearHeads heads;
  Tensor q, k, v;               ///< [batch, heads, length, size]
  std::optional<Tensor> decay;  ///< [batch, kv_heads, length, key size or 1]
  std::optional<Tensor> beta;   ///< [batch, kv_heads or 1, length, 1]
  double scale;
};

/// A vector of one position of one head.
std::span<const double> at(const Tensor& x, std::int64_t batch, std::int64_t head, std::int64_t time) {
  const std::int64_t size = x.dim(3);
  const std::int64_t first = ((batch * x.dim(1) + head) * x.dim(2) + time) * size;
  return x.as<double>().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size));
}

Tensor gate(const KernelContext& context, std::size_t input, std::int64_t heads, const Tensor& k) {
  const Tensor& x = context.input(input);
  require(x.rank() == 3 && x.dim(0) == k.dim(0) && x.dim(1) == k.dim(2), "decay and beta must be [batch, length, ...]");
  return unpack_heads(context, x, heads);
}

/// In com.microsoft keys may have fewer heads than states, and states more than queries.
LinearHeads read_heads(const KernelContext& context, bool is_microsoft) {
  LinearHeads heads{context.integer("q_num_heads"), 0, context.integer("kv_num_heads")};
  heads.keys = heads.states;
  if (!is_microsoft) return heads;
  require(context.integer("state_window") == 0, "windows of states are not supported");
  const Tensor &q = context.input(0), &k = context.input(1);
  require(q.rank() == 3 && k.rank() == 3 && heads.queries > 0 && heads.states > 0 && q.dim(2) > 0 &&
              q.dim(2) % heads.queries == 0,
          "queries and keys must be [batch, length, heads * size]");
  const std::int64_t size = q.dim(2) / heads.queries;
  heads.keys = k.dim(2) / size;
  require(k.dim(2) % size == 0 && heads.keys > 0 && heads.states % heads.keys == 0,
          "the heads of the keys do not divide kv_num_heads");
  require(heads.queries % heads.states == 0 || heads.states % heads.queries == 0,
          "one of q_num_heads and kv_num_heads must divide the other");
  return heads;
}

LinearAttentionOperands read_operands_linear_attention(const KernelContext& context, bool is_microsoft) {
  const LinearHeads heads = read_heads(context, is_microsoft);
  LinearAttentionOperands o{heads,
                            unpack_heads(context, context.input(0), heads.queries),
                            unpack_heads(context, context.input(1), heads.keys),
                            unpack_heads(context, context.input(2), heads.states),
                            {},
                            {},
                            context.real("scale")};
  if (!is_microsoft) require_attention_shapes(o.q, o.k, o.v);
  require(o.q.dim(0) == o.k.dim(0) && o.k.dim(0) == o.v.dim(0) && o.q.dim(2) == o.k.dim(2) && o.k.dim(2) == o.v.dim(2),
          "queries, keys and values must have the same length");
  if (o.scale == 0) o.scale = 1 / std::sqrt(static_cast<double>(o.q.dim(3)));
  const std::string_view rule = context.string("update_rule");
  if (rule == "gated" || rule == "gated_delta") {
    o.decay = gate(context, 4, heads.states, o.k);
    require(o.decay->dim(3) == 1 || o.decay->dim(3) == o.k.dim(3), "decay must be per head or per key dimension");
  }
  if (rule == "delta" || rule == "gated_delta") {
    o.beta = gate(context, 5, context.input(5).rank() == 3 && context.input(5).dim(2) == 1 ? 1 : heads.states, o.k);
    require(o.beta->dim(3) == 1, "beta must have one element per head, or one for all");
  }
  return o;
}

/// The state of one head from position to position.
class LinearState {
 public:
  LinearState(const KernelContext& context, const LinearAttentionOperands& operands, std::int64_t batch,
              std::int64_t head, std::span<double> state)
      : context_(context),
        o_(operands),
        batch_(batch),
        head_(head),
        keys_(o_.k.dim(3)),
        values_(o_.v.dim(3)),
        state_(state),
        factors_(static_cast<std::size_t>(o_.decay ? o_.decay->dim(3) : 0)),
        written_(static_cast<std::size_t>(values_)),
        errors_(static_cast<std::size_t>(keys_ + values_)) {
    const auto number = [](std::int64_t count) { return static_cast<std::uint64_t>(count); };  // wraps
    next_error_ =
        (number(batch) * number(o_.heads.states) + number(head)) * number(o_.q.dim(2)) * 2 * number(keys_ + values_);
  }

  /// S = exp(g) S, then S += k (x) w, where w is v, or beta (v - S^T k) for the delta rules.
  void update(std::int64_t time) {
    const std::span<const double> k = at(o_.k, batch_, head_ * o_.heads.keys / o_.heads.states, time),
                                  v = at(o_.v, batch_, head_, time);
    if (o_.decay) decay(at(*o_.decay, batch_, head_, time));
    std::copy(v.begin(), v.end(), written_.begin());
    if (o_.beta) {
      const double rate = at(*o_.beta, batch_, o_.beta->dim(1) == 1 ? 0 : head_, time)[0];
      multiply(row_major(k.data(), 1, keys_), row_major(written_.data(), 1, values_));
      for (std::size_t j = 0; j < v.size(); ++j) written_[j] = rounded(rate * (v[j] - written_[j]));
    }
    for (std::size_t i = 0; i < k.size(); ++i) {
      double* const row = state_.data() + i * v.size();
      for (std::size_t j = 0; j < v.size(); ++j) row[j] += k[i] * written_[j];
    }
    if (context_.noise()) round_state();
  }

  void read(std::span<const double> q, std::span<double> out) {
    multiply(row_major(q.data(), 1, keys_), row_major(out.data(), 1, values_));
    for (double& number : out) number *= o_.scale;
  }

 private:
  void multiply(MatrixView<const double> row, MatrixView<double> to) const {
    const Multiplier with{.threads = context_.threads(), .poll = [this] { context_.check_alive(); }};
    const MatrixView<const double> state = row_major<const double>(state_.data(), keys_, values_);
    if (const Noise* noise = context_.noise()) return noise->multiply(with, row, state, to, false);
    multiply_doubles(with, row, state, to, false);
  }

  void decay(std::span<const double> exponents) {
    for (std::size_t i = 0; i < exponents.size(); ++i) factors_[i] = rounded(std::exp(exponents[i]));
    for (std::int64_t i = 0; i < keys_; ++i) {
      const double factor = factors_[factors_.size() == 1 ? 0 : static_cast<std::size_t>(i)];
      for (double& number : state_.subspan(static_cast<std::size_t>(i * values_), written_.size())) number *= factor;
    }
  }

  double rounded(double number) {
    const Noise* const noise = context_.noise();
    return noise ? number * (1 + noise->error(next_error_++)) : number;
  }

  /// Of each element one rounding, and one of its decay; by a number for its row and a sign for its column, so that any two errors are uncorrelated.
  void round_state() {
    const double roundings = o_.decay ? std::sqrt(2.0) : 1;
    for (double& error : errors_) error = context_.noise()->error(next_error_++);
    const double* const signs = errors_.data() + keys_;
    for (std::int64_t i = 0; i < keys_; ++i) {
      const double error = roundings * errors_[static_cast<std::size_t>(i)];
      double* const row = state_.data() + i * values_;
      for (std::int64_t j = 0; j < values_; ++j) row[j] *= 1 + (signs[j] < 0 ? -error : error);
    }
  }

  const KernelContext& context_;
  const LinearAttentionOperands& o_;
  std::int64_t batch_, head_, keys_, values_;
  std::span<double> state_;
  std::vector<double> factors_, written_, errors_;
  std::uint64_t next_error_;
};

template <bool is_microsoft>
void linear_attention(KernelContext& context) {
  const LinearAttentionOperands o = read_operands_linear_attention(context, is_microsoft);
  const std::int64_t batches = o.q.dim(0), states_of = o.heads.states, results = o.heads.results(), length = o.q.dim(2),
                     value_size = o.v.dim(3), shared = results / states_of;
  const Dims state_dims = {batches, states_of, o.k.dim(3), value_size};
  const Tensor* past = context.find_input(3);
  Tensor states = past ? *past : context.make(o.q.type(), state_dims);
  require(states.dims() == state_dims, "past_state must be [batch, kv_num_heads, key size, value size]");

  Tensor y = context.make(o.q.type(), {batches, results, length, value_size});
  const std::span<double> all_states = states.write<double>(), out = y.write<double>();
  const std::int64_t state_size = o.k.dim(3) * value_size;
  context.for_range(batches * states_of, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t batch = i / states_of, head = i % states_of;
      LinearState state(
          context, o, batch, head,
          all_states.subspan(static_cast<std::size_t>(i * state_size), static_cast<std::size_t>(state_size)));
      for (std::int64_t time = 0; time < length; ++time) {
        state.update(time);
        for (std::int64_t reader = head * shared; reader < (head + 1) * shared; ++reader) {
          const std::int64_t to = ((batch * results + reader) * length + time) * value_size;
          state.read(at(o.q, batch, reader * o.heads.queries / results, time),
                     out.subspan(static_cast<std::size_t>(to), static_cast<std::size_t>(value_size)));
        }
      }
    }
  });
  context.set_output(0, pack_heads(context, y));
  context.set_output(1, states);
}

}  // namespace

void register_linear_attention(KernelRegistry& registry) {
  registry.add("LinearAttention", all_versions(), linear_attention<false>, {.noise = noise::ordinary});
  registry.add("com.microsoft", "LinearAttention", all_versions(), linear_attention<true>, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
