// LinearAttention: a state of each key head, [key size, value size], that every position of the sequence decays, writes to and reads from. Heads are packed
// into the last axis.
#include <cmath>
#include <optional>

#include "reference/kernels/attend.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

struct LinearAttentionOperands {
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

LinearAttentionOperands read_operands_linear_attention(const KernelContext& context) {
  const std::int64_t q_heads = context.integer("q_num_heads"), kv_heads = context.integer("kv_num_heads");
  LinearAttentionOperands o{unpack_heads(context, context.input(0), q_heads),
                            unpack_heads(context, context.input(1), kv_heads),
                            unpack_heads(context, context.input(2), kv_heads),
                            {},
                            {},
                            context.real("scale")};
  require_attention_shapes(o.q, o.k, o.v);
  require(o.q.dim(2) == o.k.dim(2), "queries, keys and values must have the same length");
  if (o.scale == 0) o.scale = 1 / std::sqrt(static_cast<double>(o.q.dim(3)));
  const std::string_view rule = context.string("update_rule");
  if (rule == "gated" || rule == "gated_delta") {
    o.decay = gate(context, 4, kv_heads, o.k);
    require(o.decay->dim(3) == 1 || o.decay->dim(3) == o.k.dim(3), "decay must be per head or per key dimension");
  }
  if (rule == "delta" || rule == "gated_delta") {
    o.beta = gate(context, 5, context.input(5).rank() == 3 && context.input(5).dim(2) == 1 ? 1 : kv_heads, o.k);
    require(o.beta->dim(3) == 1, "beta must have one element per head, or one for all");
  }
  return o;
}

/// One position: S = exp(g) S, then S += k (x) v, with v replaced by beta (v - S^T k) for the delta rules. `value` is scratch.
void update_state(const LinearAttentionOperands& o, std::int64_t batch, std::int64_t head, std::int64_t time,
                  std::span<double> state, std::vector<double>& value) {
  const std::span<const double> k = at(o.k, batch, head, time), v = at(o.v, batch, head, time);
  value.assign(v.begin(), v.end());
  if (o.decay) {
    const std::span<const double> g = at(*o.decay, batch, head, time);
    for (std::size_t i = 0; i < state.size(); ++i) state[i] *= std::exp(g[g.size() == 1 ? 0 : i / v.size()]);
  }
  if (o.beta) {
    const double rate = at(*o.beta, batch, o.beta->dim(1) == 1 ? 0 : head, time)[0];
    for (std::size_t j = 0; j < v.size(); ++j) {
      double known = 0;
      for (std::size_t i = 0; i < k.size(); ++i) known += state[i * v.size() + j] * k[i];
      value[j] = rate * (v[j] - known);
    }
  }
  for (std::size_t i = 0; i < k.size(); ++i) {
    for (std::size_t j = 0; j < v.size(); ++j) state[i * v.size() + j] += k[i] * value[j];
  }
}

void read(std::span<const double> state, std::span<const double> q, double scale, std::span<double> out) {
  for (std::size_t j = 0; j < out.size(); ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i) sum += q[i] * state[i * out.size() + j];
    out[j] = scale * sum;
  }
}

void linear_attention(KernelContext& context) {
  const LinearAttentionOperands o = read_operands_linear_attention(context);
  const std::int64_t batches = o.q.dim(0), q_heads = o.q.dim(1), kv_heads = o.k.dim(1), length = o.q.dim(2),
                     value_size = o.v.dim(3), shared = q_heads / kv_heads;
  const Dims state_dims = {batches, kv_heads, o.k.dim(3), value_size};
  const Tensor* past = context.find_input(3);
  Tensor states = past ? *past : context.make(o.q.type(), state_dims);
  require(states.dims() == state_dims, "past_state must be [batch, kv_num_heads, key size, value size]");

  Tensor y = context.make(o.q.type(), {batches, q_heads, length, value_size});
  const std::span<double> all_states = states.write<double>(), out = y.write<double>();
  const std::int64_t state_size = o.k.dim(3) * value_size;
  context.for_range(batches * kv_heads, 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> value;
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t batch = i / kv_heads, head = i % kv_heads;
      const auto state =
          all_states.subspan(static_cast<std::size_t>(i * state_size), static_cast<std::size_t>(state_size));
      for (std::int64_t time = 0; time < length; ++time) {
        update_state(o, batch, head, time, state, value);
        for (std::int64_t reader = head * shared; reader < (head + 1) * shared; ++reader) {
          const std::int64_t to = ((batch * q_heads + reader) * length + time) * value_size;
          read(state, at(o.q, batch, reader, time), o.scale,
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
  registry.add("LinearAttention", all_versions(), linear_attention, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
