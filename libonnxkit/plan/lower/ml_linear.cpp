// ai.onnx.ml: linear models.
#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// Sums of columns times coefficients, with an intercept for each set of them: [rows, sets], of float32 for float32 and of float64 for others.
struct LinearSums {
  View sums;
  std::string refused = {};
};

LinearSums linear_sums(LowerCall& call, std::int64_t sets) {
  if (!has_lane(call.input_type(0))) return {{}, "elements cannot be computed"};
  const Dims& x = call.input_dims(0);
  if (x.empty() || x.size() > 2 || call.input(0).size() == 0) return {{}, "without elements"};
  const std::int64_t features = x.back();
  const auto coefficients = call.reals("coefficients").value_or(std::vector<float>()),
             intercepts = call.reals("intercepts").value_or(std::vector<float>());
  const auto count = static_cast<std::int64_t>(coefficients.size());
  if (sets < 1 || count % features != 0 || count / features != sets ||
      (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != sets))
    return {{}, "coefficients of another number"};
  const ElementType type = call.input(0).type == ElementType::float32 ? ElementType::float32 : ElementType::float64;
  const View rows =
      reshaped_or_copied(call, stored_as(call, call.input(0), type), {call.input(0).size() / features, features});
  constexpr std::int64_t turned[] = {1, 0};
  const View weights = permuted(call.constant(coefficients, {sets, features}), turned);
  const View product = matrix_product(call, rows, stored_as(call, weights, type), {rows.dims[0], sets});
  if (intercepts.empty()) return {product};
  Expression e;
  const Lane lane = lane_of(type);
  e.apply(Operation::add, e.input(0, lane), e.convert(e.input(1, Lane::f32), lane));
  return {mapped(call, e, {product, call.constant(intercepts, {sets})}, type, product.dims)};
}

/// As float32, perhaps through the logistic function, into a view.
void write_scores(LowerCall& call, const View& sums, bool is_logistic, const View& to) {
  Expression e;
  Number score = e.input(0, lane_of(sums.type));
  if (is_logistic) score = e.apply(Operation::sigmoid, score);
  e.convert(score, Lane::f32);
  call.emit_map(e, {sums}, to);
}

Unlowered lower_linear_regressor(LowerCall& call) {
  const auto transform = call.string("post_transform");
  if (transform != "NONE" && transform != "LOGISTIC") return "a transform of whole rows";
  const LinearSums linear = linear_sums(call, call.integer("targets", 1));
  if (!linear.refused.empty()) return linear.refused;
  const View y = call.make(ElementType::float32, linear.sums.dims);
  write_scores(call, linear.sums, transform == "LOGISTIC", y);
  call.set_output(0, reshaped(y, call.output_dims(0)));
  return std::nullopt;
}

/// The scores of both classes from the sum of the second alone.
void write_both_scores(LowerCall& call, const View& sums, bool is_logistic, const View& to) {
  Expression other;
  const Lane lane = lane_of(sums.type);
  const Number score = other.input(0, lane);
  if (is_logistic)
    other.apply(Operation::sigmoid, other.apply(Operation::negate, score));
  else
    other.apply(Operation::subtract, other.constant(lane, 1), score);
  other.convert(other.last(), Lane::f32);
  call.emit_map(other, {sums}, sliced(to, 1, 0, 1, 1));
  write_scores(call, sums, is_logistic, sliced(to, 1, 1, 1, 1));
}

Unlowered lower_linear_classifier(LowerCall& call) {
  const auto labels = call.integers("classlabels_ints");
  if (!labels || call.strings("classlabels_strings")) return "strings lie in no buffer";
  const auto transform = call.string("post_transform");
  const bool is_softmax = transform == "SOFTMAX", is_logistic = transform == "LOGISTIC";
  if (!is_softmax && !is_logistic && transform != "NONE") return "a transform of whole rows";
  const auto intercepts = call.reals("intercepts");
  const auto classes = static_cast<std::int64_t>(labels->size());
  const std::int64_t sets =
      intercepts && !intercepts->empty() ? static_cast<std::int64_t>(intercepts->size()) : classes;
  const bool is_binary = sets == 1 && classes == 2;
  if (!is_binary && sets > classes) return "fewer labels than classes";
  const LinearSums linear = linear_sums(call, sets);
  if (!linear.refused.empty()) return linear.refused;
  const View& sums = linear.sums;
  const std::int64_t rows = sums.dims[0];
  View best;
  const View scores = call.make(ElementType::float32, {rows, is_binary ? 2 : sets});
  if (is_binary) {
    Expression e;
    const Lane lane = lane_of(sums.type);
    e.apply(Operation::less, e.constant(lane, 0), e.input(0, lane));
    best = mapped(call, e, {sums}, ElementType::int64, sums.dims);
    write_both_scores(call, sums, is_logistic, scores);
  } else {
    if (is_softmax && sums.type != ElementType::float32) return "a softmax of float64";
    best = first_greatest(call, sums, 1);
    if (is_softmax)
      call.emit(softmax_step, {sums}, {scores}, SoftmaxParameters());
    else
      write_scores(call, sums, is_logistic, scores);
  }
  const View names = call.make(ElementType::int64, {1, rows, 1});
  call.emit(gather_step, {integer_constant(call, *labels, {1, classes, 1}), reshaped(best, {rows})}, {names});
  call.set_output(0, reshaped(names, call.output_dims(0)));
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
