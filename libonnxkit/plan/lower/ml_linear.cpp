// ai.onnx.ml: linear models.
#include "libonnxkit/plan/ml_scores.h"

namespace onnxkit::plan {
namespace {

LinearSums sums_of_attributes(LowerCall& call, std::int64_t sets) {
  const auto coefficients = call.reals("coefficients").value_or(std::vector<float>()),
             intercepts = call.reals("intercepts").value_or(std::vector<float>());
  return linear_sums(call, coefficients, intercepts, sets);
}

Unlowered lower_linear_regressor(LowerCall& call) {
  const auto transform = post_transform_of(call);
  if (!transform) return no_such_transform;
  const LinearSums linear = sums_of_attributes(call, call.integer("targets", 1));
  if (linear.refused) return linear.refused;
  const View y = call.make(ElementType::float32, linear.sums.dims);
  write_scores(call, linear.sums, *transform, y);
  call.set_output(0, reshaped(y, call.output_dims(0)));
  return std::nullopt;
}

Unlowered lower_linear_classifier(LowerCall& call) {
  const auto labels = call.integers("classlabels_ints");
  if (!labels || call.strings("classlabels_strings")) return "strings lie in no buffer";
  const auto transform = post_transform_of(call);
  if (!transform) return no_such_transform;
  const auto intercepts = call.reals("intercepts");
  const auto classes = static_cast<std::int64_t>(labels->size());
  const std::int64_t sets =
      intercepts && !intercepts->empty() ? static_cast<std::int64_t>(intercepts->size()) : classes;
  const bool is_binary = sets == 1 && classes == 2;
  if (!is_binary && sets > classes) return "fewer labels than classes";
  const LinearSums linear = sums_of_attributes(call, sets);
  if (linear.refused) return linear.refused;
  const View& sums = linear.sums;
  const View scores = call.make(ElementType::float32, {sums.dims[0], is_binary ? 2 : sets});
  View best;
  if (is_binary) {
    const bool is_logistic = transform == PostTransform::logistic;
    const Lane lane = lane_of(sums.type);
    Expression e;
    e.apply(Operation::less, e.constant(lane, 0), e.input(0, lane));
    best = mapped(call, e, {sums}, ElementType::int64, sums.dims);
    write_both_scores(call, sums, is_logistic, is_logistic ? 0 : 1, scores);
  } else {
    best = first_greatest(call, sums, 1);
    write_scores(call, sums, *transform, scores);
  }
  give_labels(call, *labels, best);
  if (call.has_output(1)) call.set_output(1, reshaped(scores, call.output_dims(1)));
  return std::nullopt;
}

}  // namespace

void register_ml_linear(LoweringRegistry& registry);
void register_ml_linear(LoweringRegistry& registry) {
  registry.add("ai.onnx.ml", "LinearRegressor", all_versions(), lower_linear_regressor);
  registry.add("ai.onnx.ml", "LinearClassifier", all_versions(), lower_linear_classifier);
}

}  // namespace onnxkit::plan
