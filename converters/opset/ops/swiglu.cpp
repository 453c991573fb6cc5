#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

void to_swish(Step& step) {
  const ValueId gate = step.value("gate");
  ir::Node& swish = step.emit("Swish", {step.input(0)}, {gate});
  if (const ir::Attribute* alpha = step.node().find_attribute("alpha")) swish.attributes.push_back(clone(*alpha));
  step.emit("Mul", {gate, step.input(1)}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_swiglu(StepRegistry& registry) {
  registry.introduced({"SwiGLU"}, 28, adapt("rewritten as Swish and Mul", to_swish));
}

}  // namespace onnxkit::opset
