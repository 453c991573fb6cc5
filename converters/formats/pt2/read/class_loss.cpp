// Losses of classes: targets are numbers of classes, which some value marks as ignored, or probabilities. Axis 1 has the classes.
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

constexpr std::int64_t loss_of_each = 0, mean_loss = 1, sum_of_losses = 2;

std::string name_of_reduction(std::int64_t reduction) {
  return reduction == loss_of_each ? "none" : reduction == mean_loss ? "mean" : "sum";
}

/// What both losses are given; with an axis in front where there is no batch.
struct LossInputs {
  Val x, target, weight;
  std::int64_t reduction = mean_loss, ignored = 0;
  bool has_batch = true;
};

LossInputs given_to(Call& call) {
  auto& onnx = call.onnx;
  LossInputs given;
  given.x = call.tensor("self");
  given.target = call.tensor("target");
  given.weight = call.has("weight") ? call.tensor("weight") : Val{};
  given.reduction = call.integer("reduction", mean_loss);
  given.ignored = call.integer("ignore_index", -100);
  given.has_batch = call.rank(given.x) != 1;
  if (given.reduction < loss_of_each || given.reduction > sum_of_losses) call.refuse("this reduction of a loss");
  const bool is_list = call.rank(given.target) == 1;
  if (!given.has_batch) given.x = onnx.unsqueeze(given.x, {0});
  if (is_floating(onnx.elem(given.target))) {
    if (!given.has_batch) given.target = onnx.unsqueeze(given.target, {0});
  } else {
    given.target = onnx.cast(given.target, ElementType::int64);
    if (!given.has_batch && !is_list) given.target = onnx.unsqueeze(given.target, {0});
  }
  return given;
}

Val total_loss(Call& call, Val x) { return call.onnx.emit("ReduceSum", {x}, {{"keepdims", std::int64_t{0}}}); }

Val of_targets(Call& call, const LossInputs& given, std::string_view op, Val x) {
  auto& onnx = call.onnx;
  const std::vector<Val> inputs =
      given.weight ? std::vector{x, given.target, given.weight} : std::vector{x, given.target};
  return onnx.emit(op, inputs, {{"reduction", name_of_reduction(given.reduction)}, {"ignore_index", given.ignored}});
}

Val is_ignored(Call& call, const LossInputs& given) {
  return call.onnx.emit("Equal", {given.target, call.onnx.scalar_integer(ElementType::int64, given.ignored)});
}

/// The sum of the weights of the targets that are not ignored.
Val weight_of_targets(Call& call, const LossInputs& given) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(given.x);
  const Val ignored = is_ignored(call, given), zero = onnx.scalar(type, 0);
  if (!given.weight) return total_loss(call, onnx.emit("Where", {ignored, zero, onnx.scalar(type, 1)}));
  const Val safe = onnx.emit("Where", {ignored, onnx.scalar_integer(ElementType::int64, 0), given.target});
  const Val weights = onnx.emit("Gather", {given.weight, safe}, {{"axis", std::int64_t{0}}});
  return total_loss(call, onnx.emit("Where", {ignored, zero, weights}));
}

Val weights_of_classes(Call& call, Val weight, std::size_t rank) {
  std::vector<std::int64_t> sizes(rank, 1);
  sizes[1] = -1;
  return call.onnx.reshape(weight, sizes);
}

/// The loss of targets that are all classes alike.
Val smooth_loss(Call& call, const LossInputs& given, Val logarithms) {
  auto& onnx = call.onnx;
  const Val weighted =
      given.weight ? onnx.emit("Mul", {logarithms, weights_of_classes(call, given.weight, call.rank(logarithms))})
                   : logarithms;
  const Val alike =
      onnx.emit("ReduceMean", {onnx.emit("Neg", {weighted}), onnx.integers({1})}, {{"keepdims", std::int64_t{0}}});
  const Val loss = onnx.emit("Where", {is_ignored(call, given), onnx.scalar(onnx.elem(given.x), 0), alike});
  if (given.reduction == loss_of_each) return loss;
  const Val whole = total_loss(call, loss);
  return given.reduction == sum_of_losses ? whole : onnx.emit("Div", {whole, weight_of_targets(call, given)});
}

/// -sum(target log softmax(x)) over the classes; the mean is one over all else.
Val loss_of_probabilities(Call& call, const LossInputs& given, double smoothing) {
  auto& onnx = call.onnx;
  const ElementType type = promoted(onnx.elem(given.x), onnx.elem(given.target));
  const Val logarithms = onnx.cast(onnx.emit("LogSoftmax", {given.x}, {{"axis", std::int64_t{1}}}), type);
  Val target = onnx.cast(given.target, type);
  if (smoothing > 0) {
    const auto classes = onnx.size(given.x, 1);
    if (!classes || *classes < 1) {
      call.refuse("labels are smoothed over a number of classes that is not known");
      return given.x;
    }
    const Val kept = onnx.emit("Mul", {target, onnx.scalar(type, 1 - smoothing)});
    target = onnx.emit("Add", {kept, onnx.scalar(type, smoothing / static_cast<double>(*classes))});
  }
  Val product = onnx.emit("Mul", {logarithms, target});
  if (given.weight) {
    const Val weight = weights_of_classes(call, given.weight, call.rank(product));
    product = onnx.emit("Mul", {product, onnx.cast(weight, type)});
  }
  const Val loss =
      onnx.emit("Neg", {onnx.emit("ReduceSum", {product, onnx.integers({1})}, {{"keepdims", std::int64_t{0}}})});
  if (given.reduction == loss_of_each) return loss;
  return given.reduction == sum_of_losses ? total_loss(call, loss)
                                          : onnx.emit("ReduceMean", {loss}, {{"keepdims", std::int64_t{0}}});
}

Val without_batch(Call& call, const LossInputs& given, Val loss) {
  return given.has_batch || given.reduction != loss_of_each ? loss : call.onnx.squeeze(loss, {0});
}

void map_cross_entropy_of_classes(Call& call) {
  auto& onnx = call.onnx;
  const LossInputs given = given_to(call);
  const double smoothing = call.real("label_smoothing", 0);
  if (call.refused()) return;
  if (is_floating(onnx.elem(given.target)))
    return call.result(without_batch(call, given, loss_of_probabilities(call, given, smoothing)));
  if (smoothing == 0)
    return call.result(without_batch(call, given, of_targets(call, given, "SoftmaxCrossEntropyLoss", given.x)));
  const ElementType type = onnx.elem(given.x);
  const Val logarithms = onnx.emit("LogSoftmax", {given.x}, {{"axis", std::int64_t{1}}});
  const Val hard = onnx.emit(
      "Mul", {of_targets(call, given, "NegativeLogLikelihoodLoss", logarithms), onnx.scalar(type, 1 - smoothing)});
  const Val smooth = onnx.emit("Mul", {smooth_loss(call, given, logarithms), onnx.scalar(type, smoothing)});
  call.result(without_batch(call, given, onnx.emit("Add", {hard, smooth})));
}

void map_likelihood(Call& call) {
  const LossInputs given = given_to(call);
  if (call.refused()) return;
  const Val loss = of_targets(call, given, "NegativeLogLikelihoodLoss", given.x);
  std::vector<Val> results = {without_batch(call, given, loss)};
  if (call.node.outputs.size() > 1)
    results.push_back(given.reduction == loss_of_each ? call.onnx.scalar(call.onnx.elem(given.x), 0)
                                                      : weight_of_targets(call, given));
  call.results(results);
}

}  // namespace

void register_class_loss(Mappings& mappings);
void register_class_loss(Mappings& mappings) {
  mappings.add("aten.cross_entropy_loss.default", map_cross_entropy_of_classes);
  mappings.add({"aten.nll_loss_nd.default", "aten.nll_loss.default", "aten.nll_loss2d.default",
                "aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default"},
               map_likelihood);
}

}  // namespace onnxkit::pt2
