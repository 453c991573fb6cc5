// com.microsoft: what models put around linear attention: LinearAttentionGate, GatedRMSNorm, GatedAdd.
#include <algorithm>
#include <cmath>

#include "libonnxkit/base/dtype/dtype.h"
#include "reference/executor/kernel.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

/// What a gate lets through: the logistic function.
double share_let_through(double x) { return 1 / (1 + std::exp(-x)); }

/// log(1 + e^x).
double softplus_of_gate(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

void linear_attention_gate(KernelContext& context) {
  const Tensor &a = context.input(0), &bias = context.input(1), &scale = context.input(2);
  require(a.rank() == 3 && bias.dims() == Dims{a.dim(2)} && scale.dims() == bias.dims(),
          "there must be one bias and one scale per head");
  const std::span<const double> biases = bias.as<double>(), scales = scale.as<double>(), from = a.as<double>();
  Tensor decay = context.make_unset(real_type, a.dims());
  const std::span<double> to = decay.write<double>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t head = i % biases.size();
    to[i] = scales[head] * softplus_of_gate(from[i] + biases[head]);
  }
  context.set_output(0, decay.retyped(a.type()));
  if (!context.has_output(1)) return;
  require(context.has_input(3), "beta is asked for without b");
  context.set_output(1, map_reals(context, context.input(3), a.type(), share_let_through));
}

/// Groups of as many numbers as there are scales, over the root of the mean of their squares, times what the gates let through.
void gated_rms_norm(KernelContext& context) {
  const Tensor &x = context.input(0), &scale = context.input(1), &gate = context.input(2);
  const std::int64_t size = scale.size();
  require(scale.rank() == 1 && size > 0 && x.rank() > 0 && x.dims().back() % size == 0,
          "the last axis must be a multiple of the number of scales");
  require(gate.dims() == x.dims(), "there must be one gate per element");
  const bool is_sigmoid = context.string("activation") == "sigmoid";
  const double epsilon = context.real("epsilon", 1e-5F);
  Tensor y = context.make_unset(real_type, x.dims());
  const std::span<const double> from = x.as<double>(), gates = gate.as<double>(), scales = scale.as<double>();
  const std::span<double> to = y.write<double>();
  const auto width = static_cast<std::size_t>(size);
  for (std::size_t first = 0; first < to.size(); first += width) {
    double squares = 0;
    for (std::size_t i = first; i < first + width; ++i) squares += from[i] * from[i];
    const double by = 1 / std::sqrt(squares / static_cast<double>(size) + epsilon);
    for (std::size_t i = first; i < first + width; ++i) {
      const double open = share_let_through(gates[i]);
      to[i] = from[i] * by * scales[i - first] * (is_sigmoid ? open : gates[i] * open);
    }
  }
  context.set_output(0, y.retyped(x.type()));
}

/// The product is rounded to the type of the operands before it is added.
void gated_add(KernelContext& context) {
  const Tensor &x = context.input(0), &y = context.input(1), &gate = context.input(2);
  Dims gates = x.dims();
  require(!gates.empty() && y.dims() == x.dims(), "both operands must have the same shape");
  const auto width = static_cast<std::size_t>(gates.back());
  gates.back() = 1;
  require(gate.dims() == gates, "there must be one gate per row");
  Tensor sum = context.make_unset(real_type, x.dims());
  const std::span<double> to = sum.write<double>();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = x.as<double>()[i] + round_to(x.type(), y.as<double>()[i] * gate.as<double>()[i / width]);
  context.set_output(0, sum.retyped(x.type()));
}

}  // namespace

void register_microsoft_linear_attention(KernelRegistry& registry) {
  registry.add(microsoft_domain, "LinearAttentionGate", all_versions(), linear_attention_gate,
               {.noise = noise::ordinary});
  registry.add(microsoft_domain, "GatedRMSNorm", all_versions(), gated_rms_norm, {.noise = noise::along_axis});
  registry.add(microsoft_domain, "GatedAdd", all_versions(), gated_add, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
