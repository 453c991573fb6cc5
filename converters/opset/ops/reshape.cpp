#include <algorithm>

#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// The target of a computed shape, from what inference knows of the result: constants, sizes of the input's own axes, one that is left over.
std::vector<std::int64_t> target_from_result(Step& step) {
  const checker::Shape* in = step.shape(step.input(0));
  const auto out = promised_shape(step, step.output(0));
  const auto give_up = [] {
    refuse(
        "the shape is computed at run time, but it is an attribute in version 1; the sizes of the result are not "
        "known");
  };
  if (!out) give_up();
  std::vector<std::int64_t> target;
  bool copies = false;
  for (std::size_t i = 0; i < out->size(); ++i) {
    const checker::Dim size = (*out)[i];
    const bool copied = in && i < in->size() && !size.is_unknown() && (*in)[i] == size;
    const bool written = size.is_constant() && size.constant() > 0;
    if (!written && !copied && size.is(0)) give_up();
    copies = copies || (copied && !written);
    target.push_back(written ? size.constant() : copied ? 0 : -1);
  }
  // What is left over cannot be told when a copied size is 0.
  const auto open = std::count(target.begin(), target.end(), -1);
  if (open > 1 || (open == 1 && copies)) give_up();
  return target;
}

void shape_to_attribute(Step& step) {
  if (const auto given = step.constant_integers(step.input(1))) {
    step.set({"shape", *given});
  } else {
    step.set({"shape", target_from_result(step)});
    step.note("shape becomes an attribute: the sizes of the result are known");
  }
  step.drop_inputs(1);
}

void shape_to_input(Step& step) {
  ValueId shape = integers_as_input(step, "shape");
  if (shape == ValueId::none && step.has("shape")) shape = step.vector(std::vector<std::int64_t>(), "shape");
  step.remove("consumed_inputs");
  step.remove("shape");
  if (shape != ValueId::none) step.set_input(1, shape);
}

bool has_no_zero(const std::vector<std::int64_t>& sizes) {
  return std::find(sizes.begin(), sizes.end(), 0) == sizes.end();
}

void without_allowzero(Step& step) {
  const auto given = step.constant_integers(step.input(1));
  const auto result = promised_sizes(step, step.output(0));
  const bool is_needed =
      step.integer("allowzero") != 0 && !(given && has_no_zero(*given)) && !(result && has_no_zero(*result));
  step.remove("allowzero");
  if (!is_needed) return;
  step.set_input(0, with_zero_sizes(step, step.input(0), step.input(1)));
  step.note("an empty tensor is first reshaped to size 0 in all axes, so that each 0 of the shape copies one");
}

}  // namespace

void register_reshape(StepRegistry& registry) {
  registry.change({"Reshape"}, 5, adapt("shape becomes an input", shape_to_input),
                  adapt("shape becomes an attribute", shape_to_attribute));
  registry.types({"Reshape"}, {13, 19, 21, 23, 24, 25});
  registry.change({"Reshape"}, 14, compatible("the default of allowzero is the older behaviour"),
                  adapt("removed allowzero", without_allowzero));
}

}  // namespace onnxkit::opset
