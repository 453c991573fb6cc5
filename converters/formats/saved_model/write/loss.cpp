// Losses of classes.
#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

ValueId without_axis_1(WriteCall& call, ValueId x) { return reduce(call, "Sum", x, {1}, false); }

/// Where scores are those of the target, [N, C, ...].
ValueId chosen(WriteCall& call, ValueId target) {
  const Dim classes = (*call.shape(0))[1];
  const ValueId depth = as_scalar(call, sizes_vector(call, {classes}));
  const ValueId yes = call.scalar(ElementType::boolean, 1), no = call.scalar(ElementType::boolean, 0);
  return call.emit(
      "OneHot",
      {{"indices", target}, {"depth", depth}, {"on_value", yes}, {"off_value", no}, {"axis", std::int64_t{1}}},
      with_elem(call.type(0), ElementType::boolean));
}

/// Minus the logarithm of the probability of each target, times the weight of its class; their sum, or mean by the weights.
ValueId likelihood_loss(WriteCall& call, ValueId scores) {
  const std::size_t rank = call.rank(0);
  if (rank < 2 || !is_real(call)) {
    call.refuse("it has no axis of classes");
    return scores;
  }
  const ElementType elem = call.elem(0);
  const ValueId target = cast(call, call.input(1), ElementType::int64), zero = call.scalar(elem, 0);
  const ValueId is_target = chosen(call, target);
  ValueId loss = unary(call, "Neg", without_axis_1(call, select(call, is_target, scores, zero)));
  ValueId weights = cast(call, is_target, elem);
  if (call.has(2)) {
    Shape along(rank - 1, Dim(1));
    along[0] = (*call.shape(0))[1];
    weights = binary(call, "Mul", weights, reshape(call, call.input(2), along));
  }
  weights = without_axis_1(call, weights);
  if (call.has_attribute("ignore_index")) {
    const auto ignored = static_cast<double>(call.integer("ignore_index", 0));
    const ValueId counts = compare(call, "NotEqual", target, call.scalar(ElementType::int64, ignored));
    loss = select(call, counts, loss, zero);
    weights = select(call, counts, weights, zero);
  }
  loss = binary(call, "Mul", loss, weights);
  const std::string_view reduction = call.text("reduction", "mean");
  if (reduction == "none") return loss;
  Ints axes;
  for (std::size_t axis = 0; axis + 1 < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  const ValueId sum = reduce(call, "Sum", loss, axes, false);
  return reduction == "sum" ? sum : binary(call, "RealDiv", sum, reduce(call, "Sum", weights, axes, false));
}

void map_negative_log_likelihood(WriteCall& call) { call.result(likelihood_loss(call, call.input(0))); }

void map_softmax_cross_entropy(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  if (rank < 2) return call.refuse("it has no axis of classes");
  const Ints order = swapped_axes(rank, 1, rank - 1);
  const ValueId moved = transpose(call, call.input(0), order);
  const ValueId scores = transpose(call, unary(call, "LogSoftmax", moved), order);
  call.results({likelihood_loss(call, scores), scores});
}

}  // namespace

void register_loss(Writers& writers);
void register_loss(Writers& writers) {
  writers.add("NegativeLogLikelihoodLoss", map_negative_log_likelihood);
  writers.add("SoftmaxCrossEntropyLoss", map_softmax_cross_entropy);
}

}  // namespace onnxkit::to_tensorflow
