#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

void to_expand(Step& step) {
  if (step.is_reference("value")) refuse_unknown("the function's caller sets attribute value");
  const ir::Attribute* given = step.node().find_attribute("value");
  ValueId one = ValueId::none;
  if (given && given->tensor()) {
    ir::Tensor element = clone(*given->tensor());
    element.dims.clear();
    element.name = {};
    one = step.constant_node(std::move(element), "element");
  } else {
    one = step.number(ElementType::float32, 0, "element");
  }
  step.emit("Expand", {one, step.input(0)}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_constant_of_shape(StepRegistry& registry) {
  registry.introduced({"ConstantOfShape"}, 9, adapt("rewritten as Expand of one element", to_expand));
  registry.types({"ConstantOfShape"}, {20, 21, 23, 24, 25});
}

}  // namespace onnxkit::opset
