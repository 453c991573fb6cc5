#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// An integer of the node as a vector of one element; also one that the caller of the function gives.
ValueId integer_as_vector(Step& step, std::string_view attribute, std::int64_t fallback) {
  if (!step.is_reference(attribute))
    return step.vector(std::vector<std::int64_t>{step.integer(attribute, fallback)}, attribute);
  const ValueId scalar = step.value(attribute);
  ir::Attribute copy = clone(*step.node().find_attribute(attribute));
  copy.name = "value_int";
  step.emit("Constant", {}, {scalar}).attributes.push_back(std::move(copy));
  return unsqueeze(step, scalar, {0});
}

void slice_shape(Step& step) {
  const bool whole = !step.has("end") && !step.is_reference("start") && step.integer("start") == 0;
  if (!whole) {
    const ValueId start = integer_as_vector(step, "start", 0), end = integer_as_vector(step, "end", to_the_end);
    const ValueId axes = step.vector(std::vector<std::int64_t>{0}, "axes");
    const ValueId shape = intercept_output(step, 0, "shape");
    step.then();
    step.emit("Slice", {shape, start, end, axes}, {step.output(0)});
    step.note("the whole shape, then a slice of it");
  }
  step.remove("start");
  step.remove("end");
}

}  // namespace

void register_shape(StepRegistry& registry) {
  registry.types({"Shape", "Size"}, {13, 19, 21, 23, 24, 25});
  registry.change({"Shape"}, 15, compatible("start and end default to the whole shape"),
                  adapt("removed start and end: they select the whole shape", slice_shape));
}

}  // namespace onnxkit::opset
