#include "libonnxkit/plan/ml_scores.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

}  // namespace

std::optional<PostTransform> post_transform_of(LowerCall& call) {
  constexpr PostTransform numbered[] = {PostTransform::none, PostTransform::softmax, PostTransform::logistic,
                                        PostTransform::softmax_zero};
  if (call.node().op_type == std::string_view("TreeEnsemble")) {
    const std::int64_t number = call.integer("post_transform");
    return number >= 0 && number < std::ssize(numbered) ? std::optional(numbered[number]) : std::nullopt;
  }
  const auto name = call.string("post_transform");
  if (name == "NONE") return PostTransform::none;
  if (name == "SOFTMAX") return PostTransform::softmax;
  if (name == "SOFTMAX_ZERO") return PostTransform::softmax_zero;
  if (name == "LOGISTIC") return PostTransform::logistic;
  return std::nullopt;
}

Unlowered unfit_features(LowerCall& call) {
  if (!has_lane(call.input_type(0))) return "elements cannot be computed";
  const Dims& x = call.input_dims(0);
  if (x.empty() || x.size() > 2 || call.input(0).size() == 0) return "without elements";
  return std::nullopt;
}

View feature_rows(LowerCall& call, ElementType type) {
  const View x = stored_as(call, call.input(0), type);
  return reshaped_or_copied(call, x, {x.size() / x.dims.back(), x.dims.back()});
}

LinearSums linear_sums(LowerCall& call, std::span<const float> coefficients, std::span<const float> intercepts,
                       std::int64_t sets) {
  if (auto refused = unfit_features(call)) return {.refused = refused};
  const std::int64_t features = call.input_dims(0).back();
  const auto count = static_cast<std::int64_t>(coefficients.size());
  if (sets < 1 || count % features != 0 || count / features != sets ||
      (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != sets))
    return {.refused = "coefficients of another number"};
  const ElementType type = call.input(0).type == ElementType::float32 ? ElementType::float32 : ElementType::float64;
  const View rows = feature_rows(call, type);
  constexpr std::int64_t turned[] = {1, 0};
  const View weights = permuted(call.constant(coefficients, {sets, features}), turned);
  const View product = matrix_product(call, rows, stored_as(call, weights, type), {rows.dims[0], sets});
  if (intercepts.empty()) return {.sums = product};
  Expression e;
  const Lane lane = lane_of(type);
  e.apply(Operation::add, e.input(0, lane), e.convert(e.input(1, Lane::f32), lane));
  return {.sums = mapped(call, e, {product, call.constant(intercepts, {sets})}, type, product.dims)};
}

namespace {

/// exp(x - the greatest), divided by the sum of the row; with `keeps_zeros` a 0 stays and does not count.
void write_softmax(LowerCall& call, const View& given, bool keeps_zeros, const View& to) {
  if (!keeps_zeros && given.type == ElementType::float32)
    return call.emit(softmax_step, {given}, {to}, SoftmaxParameters());
  // The greatest may be a 0 that does not count: what is far below it has to be more than nothing.
  const View sums = stored_as(call, given, ElementType::float64);
  const Lane lane = lane_of(sums.type);
  const Dims one = {sums.dims[0], 1};
  const std::vector<bool> goes = {false, true};
  const View most = reshaped(reduced(call, Reduction::maximum, sums, goes), one);
  Expression power;
  const Number score = power.input(0, lane);
  const Number raised =
      power.apply(Operation::exponential, power.apply(Operation::subtract, score, power.input(1, lane)));
  if (keeps_zeros) {
    const Number zero = power.constant(lane, 0);
    power.apply(Operation::select, power.apply(Operation::equal, score, zero), zero, raised);
  }
  const View powers = mapped(call, power, {sums, most}, sums.type, sums.dims);
  const View total = reshaped(reduced(call, Reduction::sum, powers, goes), one);
  Expression e;
  const Number part = e.input(0, lane), whole = e.input(1, lane);
  const Number quotient = e.apply(Operation::divide, part, whole);
  e.convert(e.apply(Operation::select, e.apply(Operation::equal, whole, e.constant(lane, 0)), part, quotient),
            lane_of(to.type));
  call.emit_map(e, {powers, total}, to);
}

}  // namespace

void write_scores(LowerCall& call, const View& sums, PostTransform how, const View& to) {
  if (how == PostTransform::softmax || how == PostTransform::softmax_zero)
    return write_softmax(call, sums, how == PostTransform::softmax_zero, to);
  Expression e;
  Number score = e.input(0, lane_of(sums.type));
  if (how == PostTransform::logistic) score = e.apply(Operation::sigmoid, score);
  e.convert(score, lane_of(to.type));
  call.emit_map(e, {sums}, to);
}

void write_both_scores(LowerCall& call, const View& sums, bool is_logistic, double turned, const View& to) {
  Expression other;
  const Lane lane = lane_of(sums.type);
  Number score = other.apply(Operation::subtract, other.constant(lane, turned), other.input(0, lane));
  if (is_logistic) score = other.apply(Operation::sigmoid, score);
  other.convert(score, Lane::f32);
  call.emit_map(other, {sums}, sliced(to, 1, 0, 1, 1));
  write_scores(call, sums, is_logistic ? PostTransform::logistic : PostTransform::none, sliced(to, 1, 1, 1, 1));
}

void give_labels(LowerCall& call, std::span<const std::int64_t> labels, const View& classes) {
  const std::int64_t rows = classes.size();
  const View names = call.make(ElementType::int64, {1, rows, 1});
  const View all = call.constant(labels, {1, static_cast<std::int64_t>(labels.size()), 1});
  call.emit(gather_step, {all, reshaped(classes, {rows})}, {names});
  call.set_output(0, reshaped(names, call.output_dims(0)));
}

}  // namespace onnxkit::plan
