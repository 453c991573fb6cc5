#include <limits>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// The label that does not count, as a constant of the labels' type; none where they cannot be it.
ValueId ignored_label(Step& step) {
  const auto stated = step.find_integer("ignore_index");
  if (!stated) return ValueId::none;
  const ElementType label = step.need_elem(step.input(1));
  if (label == ElementType::int64) return step.scalar(*stated, "ignored");
  const bool fits = static_cast<std::int32_t>(*stated) == *stated;
  return fits ? step.number(label, static_cast<double>(*stated), "ignored") : ValueId::none;
}

/// GatherElements counts a label below 0 from the last class: such a one becomes a number that no class has.
ValueId without_negatives(Step& step, ValueId labels) {
  const ElementType type = step.need_elem(step.input(1));
  const auto no_class = static_cast<double>(std::numeric_limits<std::int32_t>::max());
  const ValueId is_negative = step.add("Less", {labels, step.number(type, 0, "first")}, {}, "is_negative");
  return step.add("Where", {is_negative, step.number(type, no_class, "no_class"), labels}, {}, "classes");
}

/// The loss of each position, ignored ones 0, and its reduction.
void emit_loss(Step& step, ValueId log_probability) {
  const ElementType type = step.need_elem(step.input(0));
  const std::string reduction = step.string("reduction");
  const ValueId ignored = ignored_label(step);
  const bool ignores = ignored != ValueId::none;
  ValueId labels = step.input(1), is_ignored = ValueId::none;
  const ValueId zero = ignores ? step.number(type, 0, "zero") : ValueId::none;
  if (ignores) {
    is_ignored = step.add("Equal", {labels, ignored}, {}, "is_ignored");
    labels = step.add("Where", {is_ignored, step.number(step.need_elem(labels), 0, "first"), labels}, {}, "labels");
  }
  labels = without_negatives(step, labels);
  const ValueId column = unsqueeze(step, labels, {1}, "column");
  const ValueId picked = step.add("GatherElements", {log_probability, column}, {{"axis", std::int64_t{1}}}, "picked");
  ValueId loss = step.add("Neg", {squeeze(step, picked, {1}, "picked")}, {}, "losses");
  ValueId weight = ValueId::none;
  if (step.has_input(2)) {
    weight = step.add("Gather", {step.input(2), labels}, {}, "weights");
    loss = step.add("Mul", {loss, weight}, {}, "weighted");
  } else if (ignores) {
    weight = step.number(type, 1, "one");
  }
  if (ignores) {
    loss = step.add("Where", {is_ignored, zero, loss}, {}, "counted");
    weight = step.add("Where", {is_ignored, zero, weight}, {}, "counted_weights");
  }
  const Attr all{"keepdims", std::int64_t{0}};
  if (reduction == "none")
    step.emit("Identity", {loss}, {step.output(0)});
  else if (reduction == "sum")
    step.emit("ReduceSum", {loss}, {step.output(0)}, {all});
  else if (weight == ValueId::none)
    step.emit("ReduceMean", {loss}, {step.output(0)}, {all});
  else
    step.emit("Div", {step.add("ReduceSum", {loss}, {all}, "sum"), step.add("ReduceSum", {weight}, {all}, "share")},
              {step.output(0)});
  step.replace();
}

void negative_log_likelihood(Step& step) { emit_loss(step, step.input(0)); }

/// LogSoftmax along the classes, which come last for it.
void cross_entropy(Step& step) {
  const ValueId scores = step.input(0);
  const std::vector<std::int64_t> swapped = {0, 2, 1};
  const ValueId rows = reshape(step, scores, {0, 0, -1}, "rows");
  const ValueId last = step.add("Transpose", {rows}, {{"perm", swapped}}, "classes_last");
  const ValueId soft = step.add("LogSoftmax", {last}, {{"axis", std::int64_t{2}}}, "soft");
  const ValueId back = step.add("Transpose", {soft}, {{"perm", swapped}}, "classes_second");
  const ValueId log_probability = step.is_used(1) ? step.output(1) : step.value("log_prob");
  step.emit("Reshape", {back, step.add("Shape", {scores})}, {log_probability});
  emit_loss(step, log_probability);
}

}  // namespace

void register_losses(StepRegistry& registry) {
  registry.introduced({"NegativeLogLikelihoodLoss"}, 12,
                      adapt("rewritten using GatherElements and sums", negative_log_likelihood));
  registry.introduced({"SoftmaxCrossEntropyLoss"}, 12,
                      adapt("rewritten using LogSoftmax, GatherElements and sums", cross_entropy));
  registry.types({"SoftmaxCrossEntropyLoss"}, {13});
  const Way wording = compatible("only the specification text differs");
  registry.change({"NegativeLogLikelihoodLoss"}, 13, wording, wording);
  registry.types({"NegativeLogLikelihoodLoss"}, {22});
}

}  // namespace onnxkit::opset
