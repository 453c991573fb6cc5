// com.microsoft: MoE and QMoE, mixtures of experts of two layers each, of which every row takes the k that its router ranks highest.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "reference/kernels/contract.h"
#include "reference/kernels/packed_numbers.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

/// One layer of all experts: weights [experts, outputs, inputs], bias [experts, outputs] or none.
struct ExpertLayer {
  std::function<std::span<const double>(std::int64_t expert)>
      weights_of;  ///< what it gives is there until the next call
  const Tensor* bias;
  std::int64_t experts, outputs, inputs;
  std::int64_t block;  ///< numbers along `inputs` that share a scale
};

void require_bias(const ExpertLayer& layer) {
  require(!layer.bias || layer.bias->dims() == Dims{layer.experts, layer.outputs},
          "there must be one bias per output of each expert");
}

ExpertLayer real_layer(const KernelContext& context, std::size_t weight, std::size_t bias) {
  const Tensor& w = context.input(weight);
  require(w.rank() == 3 && w.size() > 0, "the weights of the experts have no three axes, or no elements");
  const auto weights_of = [&w](std::int64_t expert) {
    const auto size = static_cast<std::size_t>(w.dim(1) * w.dim(2));
    return w.as<double>().subspan(static_cast<std::size_t>(expert) * size, size);
  };
  ExpertLayer layer{weights_of, context.find_input(bias), w.dim(0), w.dim(1), w.dim(2), w.dim(2)};
  require_bias(layer);
  return layer;
}

/// The inputs of a quantized layer.
struct PackedLayer {
  std::size_t weight, scales, bias, zero_points;
};

/// Weights in packed numbers, with scales and zero points by row or by block of a row. Zero points are packed as the weights, those of a row's blocks
/// or of an expert's rows from a byte on; without them all are the middle of the range.
struct PackedWeights {
  const Tensor* numbers;
  const Tensor* zeros;
  Tensor scales;
  std::int64_t bits, outputs, inputs, block;
  bool has_blocks;

  std::int64_t blocks() const { return inputs / block; }
  /// Zero points that lie from a byte on.
  std::int64_t zeros_together() const { return has_blocks ? blocks() : outputs; }
  std::int64_t zero_bytes(std::int64_t experts) const {
    return (has_blocks ? experts * outputs : experts) * packed_bytes(zeros_together());
  }
  std::int64_t packed_bytes(std::int64_t count) const { return (count * bits + 7) / 8; }

  void decode(std::int64_t row, std::span<double> out) const {
    const auto width = static_cast<std::size_t>(bits);
    const auto number_in = [&](const Tensor& from, std::int64_t begin, std::int64_t at) {
      return static_cast<double>(packed_number(from.as<std::uint64_t>(), static_cast<std::size_t>(begin),
                                               static_cast<std::size_t>(at), width));
    };
    for (std::int64_t i = 0; i < inputs; ++i) {
      const std::int64_t at = row * blocks() + i / block;
      const double zero =
          zeros ? number_in(*zeros, at / zeros_together() * packed_bytes(zeros_together()), at % zeros_together())
                : static_cast<double>(std::int64_t{1} << (bits - 1));
      out[static_cast<std::size_t>(i)] =
          (number_in(*numbers, row * numbers->dim(2), i) - zero) * scales.as<double>()[static_cast<std::size_t>(at)];
    }
  }
};

/// Weights [experts, outputs, packed inputs]. Decoded are those of one expert at a time: a row takes few of many.
ExpertLayer packed_layer(const KernelContext& context, const PackedLayer& inputs) {
  const std::int64_t bits = context.integer("expert_weight_bits", 4);
  require(bits == 4 || bits == 8, "expert_weight_bits must be 4 or 8");
  const Tensor& w = context.input(inputs.weight);
  require(w.rank() == 3 && w.size() > 0 && w.domain() == Domain::natural,
          "the weights of the experts are no packed numbers of three axes");
  const std::int64_t experts = w.dim(0), outputs = w.dim(1), length = w.dim(2) * (8 / bits);
  const std::int64_t stated = context.integer("block_size"), block = stated > 0 ? stated : length;
  require(length % block == 0, "block_size does not divide the number of inputs");
  const Tensor* zeros = context.find_input(inputs.zero_points);
  PackedWeights packed{.numbers = &w,
                       .zeros = zeros,
                       .scales = as_reals(context, context.input(inputs.scales)),
                       .bits = bits,
                       .outputs = outputs,
                       .inputs = length,
                       .block = block,
                       .has_blocks = stated > 0};
  require(packed.scales.size() == experts * outputs * packed.blocks(), "there must be one scale per block");
  require(!zeros || (zeros->domain() == Domain::natural && zeros->size() == packed.zero_bytes(experts)),
          packed.has_blocks ? "there must be one zero point per block"
                            : "there must be one zero point per output of each expert");

  auto weights_of = [&context, packed = std::move(packed),
                     decoded = context.make_unset(real_type, {outputs, length})](std::int64_t expert) mutable {
    const std::span<double> out = decoded.write<double>();
    const auto width = static_cast<std::size_t>(packed.inputs);
    context.for_range(packed.outputs, 1 + (1 << 14) / packed.inputs, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row)
        packed.decode(expert * packed.outputs + row, out.subspan(static_cast<std::size_t>(row) * width, width));
    });
    return std::span<const double>(out);
  };
  ExpertLayer layer{std::move(weights_of), context.find_input(inputs.bias), experts, outputs, length, block};
  require_bias(layer);
  return layer;
}

/// x [rows, inputs] through the layer of one expert.
Tensor through(const KernelContext& context, const ExpertLayer& layer, std::int64_t expert, const Tensor& x) {
  const std::int64_t rows = x.dim(0);
  Tensor y = context.make_unset(real_type, {rows, layer.outputs});
  const double* const weight = layer.weights_of(expert).data();
  const Tensor factor = factor_of_packed(context, x, layer.inputs, layer.block);
  multiply_matrices<double>(context, context.input(0).type(), row_major(factor.as<double>().data(), rows, layer.inputs),
                            row_major(weight, layer.outputs, layer.inputs).transposed(),
                            row_major(y.write<double>().data(), rows, layer.outputs));
  if (!layer.bias) return y;
  const std::span<const double> bias = layer.bias->as<double>();
  const std::span<double> out = y.write<double>();
  for (std::int64_t i = 0; i < y.size(); ++i)
    out[static_cast<std::size_t>(i)] += bias[static_cast<std::size_t>(expert * layer.outputs + i % layer.outputs)];
  return y;
}

double silu(double x, double steepness = 1) { return x / (1 + std::exp(-steepness * x)); }

/// Even outputs are gates, odd ones what they let through; both within swiglu_limit.
Tensor gated(const KernelContext& context, const Tensor& x) {
  const double alpha = context.real("activation_alpha", 1), beta = context.real("activation_beta", 0);
  const double limit = context.find_real("swiglu_limit").value_or(std::numeric_limits<double>::infinity());
  require(x.dim(1) % 2 == 0, "the first layer has an odd number of outputs, and swiglu needs pairs");
  Tensor y = context.make_unset(real_type, {x.dim(0), x.dim(1) / 2});
  const std::span<const double> from = x.as<double>();
  const std::span<double> to = y.write<double>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const double gate = std::min(from[2 * i], limit), other = std::clamp(from[2 * i + 1], -limit, limit);
    to[i] = silu(gate, alpha) * (other + beta);
  }
  return y;
}

Tensor activated(const KernelContext& context, const Tensor& x) {
  const std::string_view name = context.string("activation_type");
  const auto each = [&](auto function) { return map_reals(context, x, real_type, function); };
  if (name == "swiglu") return gated(context, x);
  if (name == "relu") return each([](double v) { return v > 0 ? v : v == v ? 0 : v; });
  if (name == "silu") return each([](double v) { return silu(v); });
  if (name == "identity") return x;
  require(name == "gelu", "the activation is unknown");
  return each(tanh_gelu_microsoft);
}

struct Choice {
  std::int64_t row;
  double weight;
};

/// The rows that each expert gets; of equal ranks the last counts as the highest, as in ONNX Runtime. Without weights of their own the chosen experts have the softmax of their ranks, over all experts or over the chosen.
std::vector<std::vector<Choice>> routed(const Tensor& ranks, const Tensor* weights, std::int64_t k, bool normalizes) {
  const std::int64_t experts = ranks.dim(1);
  std::vector<std::vector<Choice>> choices(static_cast<std::size_t>(experts));
  std::vector<std::int64_t> order(static_cast<std::size_t>(experts));
  for (std::int64_t row = 0; row < ranks.dim(0); ++row) {
    const auto line = [&](const Tensor& of) { return of.as<double>().data() + row * experts; };
    const double* const rank = line(ranks);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto is_higher = [rank](std::int64_t a, std::int64_t b) {
      const double x = std::isnan(rank[a]) ? -std::numeric_limits<double>::infinity() : rank[a];
      const double y = std::isnan(rank[b]) ? -std::numeric_limits<double>::infinity() : rank[b];
      return x != y ? x > y : a > b;
    };
    std::partial_sort(order.begin(), order.begin() + k, order.end(), is_higher);
    const double highest = rank[order.front()];
    const auto weight_of = [&](std::int64_t expert) {
      return weights ? line(*weights)[expert] : std::exp(rank[expert] - highest);
    };
    double total = 0, chosen = 0;
    for (std::int64_t e = 0; e < experts; ++e) total += weight_of(e);
    for (std::int64_t i = 0; i < k; ++i) chosen += weight_of(order[static_cast<std::size_t>(i)]);
    const double divisor = normalizes ? chosen : weights ? 1 : total;
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t expert = order[static_cast<std::size_t>(i)];
      choices[static_cast<std::size_t>(expert)].push_back({row, weight_of(expert) / divisor});
    }
  }
  return choices;
}

Tensor rows_of(const KernelContext& context, const Tensor& x, std::int64_t width, const std::vector<Choice>& choices) {
  Tensor rows = context.make_unset(real_type, {static_cast<std::int64_t>(choices.size()), width});
  double* to = rows.write<double>().data();
  for (const Choice& choice : choices) to = std::copy_n(x.as<double>().data() + choice.row * width, width, to);
  return rows;
}

void mix_experts(KernelContext& context, const ExpertLayer& first, const ExpertLayer& second, const Tensor* weights,
                 bool normalizes) {
  const Tensor& x = context.input(0);
  const Tensor& ranks = context.input(1);
  const std::int64_t k = context.integer("k", 1), experts = first.experts;
  require(x.rank() == 2 || x.rank() == 3, "the input is neither [rows, size] nor [batch, length, size]");
  const std::int64_t width = x.dims().back(), rows = width == 0 ? 0 : x.size() / width;
  require(ranks.dims() == Dims{rows, experts},
          "router_probs must have one row per row of the input, and one number per expert");
  require(!weights || weights->dims() == ranks.dims(), "router_weights must have the shape of router_probs");
  require(k >= 1 && k <= experts, "k must be at least 1 and at most the number of experts");
  const bool is_gated = context.string("activation_type") == "swiglu";
  require(!is_gated || context.integer("swiglu_fusion") == 1, "swiglu is known with swiglu_fusion = 1 only");
  require(context.integer("use_sparse_mixer") == 0, "use_sparse_mixer is not supported");
  const std::int64_t between = is_gated ? first.outputs / 2 : first.outputs;
  require(first.inputs == width && second.experts == experts && second.inputs == between && second.outputs == width,
          "the sizes of the layers do not match");

  Tensor y = context.make(real_type, x.dims());
  const auto choices = routed(as_reals(context, ranks), weights, k, normalizes);
  const std::span<double> out = y.write<double>();
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::vector<Choice>& mine = choices[static_cast<std::size_t>(e)];
    if (mine.empty()) continue;
    context.check_alive();
    const Tensor hidden = activated(context, through(context, first, e, rows_of(context, x, width, mine)));
    const Tensor given = through(context, second, e, hidden);
    const double* from = given.as<double>().data();
    for (const Choice& choice : mine) {
      for (std::int64_t i = 0; i < width; ++i)
        out[static_cast<std::size_t>(choice.row * width + i)] += choice.weight * *from++;
    }
  }
  context.set_output(0, y.retyped(x.type()));
}

/// The output is the mean of what the chosen experts make of a row, weighted by the softmax of their ranks.
void mixture_of_experts(KernelContext& context) {
  require(!context.has_input(6), "a third layer of the experts is not supported");
  mix_experts(context, real_layer(context, 2, 3), real_layer(context, 4, 5), nullptr,
              context.integer("normalize_routing_weights") != 0);
}

/// ONNX Runtime's CPU kernel takes the softmax over the chosen experts, whatever normalize_routing_weights says, unless they have weights of their own.
void quantized_mixture_of_experts(KernelContext& context) {
  require(context.string("quant_type") == "int", "only quant_type = int is supported");
  require(context.integer("weights_prepacked", -1) != 1, "prepacked weights have no portable layout");
  for (const char* other : {"fc1_expert_weight_bits", "fc2_expert_weight_bits"})
    require(
        context.integer(other, context.integer("expert_weight_bits", 4)) == context.integer("expert_weight_bits", 4),
        "layers of different widths are not supported");
  for (std::size_t i = 15; i < context.input_count(); ++i)
    require(!context.has_input(i), "global scales and scales of activations are not supported");
  require(!context.has_input(8), "a third layer of the experts is not supported");
  const Tensor* weights = context.find_input(14);
  const Tensor given = weights ? as_reals(context, *weights) : Tensor();
  mix_experts(context, packed_layer(context, {2, 3, 4, 11}), packed_layer(context, {5, 6, 7, 12}),
              weights ? &given : nullptr, !weights || context.integer("normalize_routing_weights") != 0);
}

}  // namespace

void register_microsoft_moe(KernelRegistry& registry) {
  registry.add(microsoft_domain, "MoE", all_versions(), mixture_of_experts, {.noise = noise::ordinary});
  registry.add(microsoft_domain, "QMoE", all_versions(), quantized_mixture_of_experts,
               {.noise = noise::ordinary, .may_round_to_int8 = may_round_factor});
}

}  // namespace onnxkit::reference
