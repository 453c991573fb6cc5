#include "converters/opset/steps.h"

namespace onnxkit::opset {
namespace {

/// The axis was 1 where none was stated, and is the last but one now.
void axis_to_input(Step& step) {
  if (!step.is_reference("axis")) {
    step.set_input(2, step.scalar(step.integer("axis"), "axis"));
  } else {
    const ValueId axis = step.value("axis");
    ir::Attribute copy = copy_of(*step.node().find_attribute("axis"));
    copy.name = "value_int";
    step.emit("Constant", {}, {axis}).attributes.push_back(std::move(copy));
    step.set_input(2, axis);
  }
  step.remove("axis");
}

void axis_to_attribute(Step& step) {
  std::int64_t axis = -2;
  if (step.has_input(2)) {
    const std::vector<std::int64_t> stated = need_integers(step, 2, "axis");
    if (stated.size() != 1) refuse("the axis is no scalar");
    axis = stated[0];
  }
  step.set({"axis", axis});
  step.drop_inputs(2);
}

}  // namespace

void register_spectral(StepRegistry& registry) {
  registry.change({"DFT"}, 20, adapt("axis becomes an input", axis_to_input),
                  adapt("axis becomes an attribute", axis_to_attribute));
}

}  // namespace onnxkit::opset
