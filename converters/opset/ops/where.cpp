#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/select.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

void to_selection(Step& step) {
  const ValueId selected = select(step, step.input(0), step.input(1), step.input(2), step.need_elem(step.input(1)),
                                  step.sizes(step.output(0)));
  step.emit("Identity", {selected}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_where(StepRegistry& registry) {
  registry.introduced({"Where"}, 9, adapt("elements are selected by arithmetic or by position", to_selection));
  registry.change({"Where"}, 16, compatible("more types are allowed"), by_way_of(through_float32()));
}

}  // namespace onnxkit::opset
