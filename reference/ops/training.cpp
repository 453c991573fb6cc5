// ai.onnx.preview.training: the optimizers take tensors X, their gradients G and what they keep of each, group after group, and give the new X
// and what they keep. Gradient gives the derivatives of y by each of the tensors that `xs` names.
#include <cmath>

#include "reference/kernels/gradient.h"

namespace onnxkit::reference {
namespace {

constexpr std::string_view domain = "ai.onnx.preview.training";
constexpr std::size_t first_tensor = 2;  // behind learning rate and update count

/// One optimized tensor: its values, gradient and what is kept of it, which update() rewrites in place.
struct Optimized {
  std::span<double> x;
  std::span<const double> gradient;
  std::span<double> first, second;  ///< the latter is empty for optimizers that keep one tensor
};

/// Calls update(Optimized) for every tensor and sets the outputs. `kept` is how many tensors belong to each X beside its gradient.
template <class Update>
void optimize(KernelContext& context, std::size_t kept, Update update) {
  const std::size_t given = context.input_count() - first_tensor;
  require(context.input_count() > first_tensor && given % (kept + 2) == 0,
          "the number of inputs is not a multiple of the group size");
  const std::size_t tensors = given / (kept + 2);
  for (std::size_t i = 0; i < tensors; ++i) {
    const auto tensor_of = [&](std::size_t group) { return context.input(first_tensor + group * tensors + i); };
    Tensor x = tensor_of(0), first = tensor_of(2), second;
    const Tensor gradient = tensor_of(1);
    if (kept == 2) second = tensor_of(3);
    const bool fits =
        gradient.dims() == x.dims() && first.dims() == x.dims() && (kept < 2 || second.dims() == x.dims());
    require(fits, "a gradient or state differs in shape from its tensor");
    update(Optimized{x.write<double>(), gradient.as<double>(), first.write<double>(),
                     kept == 2 ? second.write<double>() : std::span<double>()});
    context.set_output(i, x);
    context.set_output(tensors + i, first);
    if (kept == 2) context.set_output(2 * tensors + i, second);
  }
}

void adagrad(KernelContext& context) {
  const double norm = context.real("norm_coefficient"), epsilon = context.real("epsilon");
  const double decay = context.real("decay_factor");
  const double rate = context.input(0).real() / (1 + context.input(1).real() * decay);
  optimize(context, 1, [=](const Optimized& t) {
    for (std::size_t i = 0; i < t.x.size(); ++i) {
      const double gradient = norm * t.x[i] + t.gradient[i];
      t.first[i] += gradient * gradient;
      t.x[i] -= rate * gradient / (std::sqrt(t.first[i]) + epsilon);
    }
  });
}

void momentum(KernelContext& context) {
  const double norm = context.real("norm_coefficient"), alpha = context.real("alpha");
  const double rate = context.input(0).real();
  const double beta = context.input(1).integer() > 0 ? context.real("beta") : 1;
  const std::string_view mode = context.string("mode");
  require(mode == "standard" || mode == "nesterov", "`mode` must be standard or nesterov");
  optimize(context, 1, [=, nesterov = mode == "nesterov"](const Optimized& t) {
    for (std::size_t i = 0; i < t.x.size(); ++i) {
      const double gradient = norm * t.x[i] + t.gradient[i];
      t.first[i] = alpha * t.first[i] + beta * gradient;
      t.x[i] -= rate * (nesterov ? gradient + alpha * t.first[i] : t.first[i]);
    }
  });
}

void adam(KernelContext& context) {
  const double norm = context.real("norm_coefficient"), norm_post = context.real("norm_coefficient_post");
  const double alpha = context.real("alpha"), beta = context.real("beta"), epsilon = context.real("epsilon");
  const double updates = context.input(1).real();
  double rate = context.input(0).real();
  if (updates > 0) rate *= std::sqrt(1 - std::pow(beta, updates)) / (1 - std::pow(alpha, updates));
  optimize(context, 2, [=](const Optimized& t) {
    for (std::size_t i = 0; i < t.x.size(); ++i) {
      const double gradient = norm * t.x[i] + t.gradient[i];
      t.first[i] = alpha * t.first[i] + (1 - alpha) * gradient;
      t.second[i] = beta * t.second[i] + (1 - beta) * gradient * gradient;
      t.x[i] = (1 - norm_post) * (t.x[i] - rate * t.first[i] / (std::sqrt(t.second[i]) + epsilon));
    }
  });
}

}  // namespace

void register_training(KernelRegistry& registry) {
  registry.add(domain, "Adagrad", all_versions(), adagrad, {.noise = noise::ordinary});
  registry.add(domain, "Momentum", all_versions(), momentum, {.noise = noise::ordinary});
  registry.add(domain, "Adam", all_versions(), adam, {.noise = noise::ordinary});
  registry.add(domain, "Gradient", all_versions(), gradient, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
