// NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss: scores [N, C, d1, ..., dk], labels [N, d1, ..., dk], one weight for each class. The loss has
// the labels' shape with reduction "none", else it is a scalar; "mean" divides by the sum of the weights that were applied.
#include "reference/kernels/log_softmax.h"

namespace onnxkit::reference {
namespace {

struct Classes {
  std::int64_t count, inner;  ///< of classes; of positions behind the axis of classes
};

Classes classes_of(const KernelContext& context) {
  const Dims& scores = context.input(0).dims();
  require(scores.size() >= 2, "the scores have no class axis");
  Dims expected = scores;
  expected.erase(expected.begin() + 1);
  require(context.input(1).dims() == expected, "there must be one label per position of the scores");
  const Tensor* weights = context.find_input(2);
  require(!weights || (weights->rank() == 1 && weights->size() == scores[1]), "there must be one weight per class");
  const AxisView view = view_axis(scores, 1);
  return {view.length, view.inner};
}

/// The loss of each position and what weight it got; ignored positions have none.
struct Losses {
  Tensor loss;
  double weight = 0;
};

Losses losses_of(const KernelContext& context, const Tensor& log_probabilities) {
  const Classes classes = classes_of(context);
  const Tensor* weights = context.find_input(2);
  const auto ignored = context.find_integer("ignore_index");
  const auto scores = log_probabilities.as<double>();
  const auto labels = context.input(1).as<std::int64_t>();
  Losses losses{context.make(context.input(0).type(), context.input(1).dims())};
  const auto loss = losses.loss.write<double>();
  ExactSum total;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (ignored && labels[i] == *ignored) continue;
    require(labels[i] >= 0 && labels[i] < classes.count, "a label is not a valid class");
    const auto position = static_cast<std::int64_t>(i);
    const std::int64_t at =
        (position / classes.inner * classes.count + labels[i]) * classes.inner + position % classes.inner;
    const double weight = weights ? weights->as<double>()[static_cast<std::size_t>(labels[i])] : 1;
    loss[i] = -scores[static_cast<std::size_t>(at)] * weight;
    total.add(weight);
  }
  losses.weight = total.value();
  return losses;
}

void set_loss(KernelContext& context, const Tensor& log_probabilities) {
  const Losses losses = losses_of(context, log_probabilities);
  const std::string_view reduction = context.string("reduction");
  if (reduction == "none") return context.set_output(0, losses.loss);
  require(reduction == "sum" || reduction == "mean", "`reduction` must be none, sum or mean");
  ExactSum sum;
  for (const double loss : losses.loss.as<double>()) sum.add(loss);
  context.set_output(
      0, context.scalar(losses.loss.type(), reduction == "sum" ? sum.value() : sum.value() / losses.weight));
}

void negative_log_likelihood(KernelContext& context) { set_loss(context, context.input(0)); }

void softmax_cross_entropy(KernelContext& context) {
  const Tensor& scores = context.input(0);
  classes_of(context);
  Tensor log_probabilities = context.make(scores.type(), scores.dims());
  for_each_strided_row<double, double>(context, scores, log_probabilities, 1, log_softmax);
  set_loss(context, log_probabilities);
  context.set_output(1, log_probabilities);
}

}  // namespace

void register_losses(KernelRegistry& registry) {
  registry.add("NegativeLogLikelihoodLoss", all_versions(), negative_log_likelihood, {.noise = noise::ordinary});
  registry.add("SoftmaxCrossEntropyLoss", all_versions(), softmax_cross_entropy, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
