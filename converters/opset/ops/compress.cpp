#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

void gather_chosen(Step& step) {
  const auto condition = need_integers(step, 1, "the condition");
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) chosen.push_back(static_cast<std::int64_t>(i));
  }
  ValueId x = step.input(0);
  const auto axis = step.find_integer("axis");
  if (!axis) x = reshape(step, x, {-1}, "flat");
  step.emit("Gather", {x, step.vector(chosen, "chosen")}, {step.output(0)}, {{"axis", axis.value_or(0)}});
  step.replace();
}

}  // namespace

void register_compress(StepRegistry& registry) {
  registry.introduced({"Compress"}, 9, adapt("rewritten as Gather of the selected positions", gather_chosen));
  registry.change({"Compress"}, 11, compatible("axis may also be negative"),
                  adapt("axis made non-negative", [](Step& step) { axis_from_front(step, "axis", 1); }));
  registry.change({"Compress"}, 28, compatible("it only allows more types"), by_way_of(through_float32()));
}

}  // namespace onnxkit::opset
