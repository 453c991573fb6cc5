// NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss: scores [N, C, d1, ..., dk], labels [N, d1, ..., dk], one weight for each class.
// The loss has the labels' shape with reduction "none", else it is a scalar.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_losses(InferContext& context) {
  context.copy_shape(0, 1);  // log_prob of SoftmaxCrossEntropyLoss
  if (rank_below(context, 0, 2)) return;
  const Shape* scores = context.input_shape(0);
  const Shape* labels = context.input_shape(1);
  if (scores) {
    Shape expected = *scores;
    expected.erase(expected.begin() + 1);
    require_shape(context, 1, expected, "there must be one label per position of the scores");
  }
  require_shape(context, 2, {scores ? (*scores)[1] : Dim()}, "there must be one weight per class");
  const std::string_view reduction = context.string("reduction");
  if (reduction == "sum" || reduction == "mean") {
    context.set_shape(0, {});
  } else if (reduction != "none") {
    context.lose_shape(0, "unknown reduction");
  } else if (labels) {
    context.set_shape(0, *labels);
  } else if (scores) {
    Shape loss = *scores;
    loss.erase(loss.begin() + 1);
    context.set_shape(0, std::move(loss));
  }
}

}  // namespace

void register_losses(InferRegistry& registry) {
  registry.add("NegativeLogLikelihoodLoss", all_versions(), infer_losses, {.inputs = {{1, Role::label}}});
  registry.add("SoftmaxCrossEntropyLoss", all_versions(), infer_losses, {.inputs = {{1, Role::label}}});
}

}  // namespace onnxkit::checker
