#include <fmt/format.h>

#include "converters/opset/compose/coordinates.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// Within one position of the indices along the axis no element is written twice: read, combined, written back, position by position.
void reduce_in_rounds_scatter_elements(Step& step) {
  const std::string reduction = step.string("reduction", "none");
  if (reduction == "none") return step.remove("reduction");
  if (step.opset_after() >= 16 && reduction != "min" && reduction != "max") return;
  const ValueId indices = step.input(1), updates = step.input(2);
  const checker::Shape* shape = step.shape(indices) ? step.shape(indices) : step.shape(updates);
  std::int64_t axis = step.integer("axis");
  if (shape && axis < 0) axis += static_cast<std::int64_t>(shape->size());
  const bool is_known = shape && axis >= 0 && axis < static_cast<std::int64_t>(shape->size()) &&
                        (*shape)[static_cast<std::size_t>(axis)].is_constant();
  if (!is_known) refuse_unknown("the number of updates along the axis is unknown");
  const std::int64_t rounds = (*shape)[static_cast<std::size_t>(axis)].constant();
  if (rounds > most_rounds)
    refuse(fmt::format("reduction {} over {} updates along the axis would require as many rounds", reduction, rounds));
  const ElementType type = step.need_elem(step.input(0));
  ValueId data = step.input(0);
  for (std::int64_t i = 0; i < rounds; ++i) {
    const ValueId index = rounds == 1 ? indices : slice(step, indices, axis, i, i + 1, "index");
    const ValueId update = rounds == 1 ? updates : slice(step, updates, axis, i, i + 1, "update");
    const ValueId old = step.add("GatherElements", {data, index}, {{"axis", axis}}, "old");
    const ValueId combined = reduced(step, reduction, type, old, update);
    const ValueId result = i + 1 == rounds ? step.output(0) : step.value("partial");
    step.emit("ScatterElements", {data, index, combined}, {result}, {{"axis", axis}});
    data = result;
  }
  if (rounds == 0) step.emit("Identity", {data}, {step.output(0)});
  step.replace();
  step.note(fmt::format("reduction {}: elements are read, combined and written back", reduction));
}

void to_scatter(Step& step) {
  indices_from_front(step, 0, 1, step.integer("axis"));
  step.set_op("Scatter");
}

}  // namespace

void register_scatter_elements(StepRegistry& registry) {
  registry.introduced({"Scatter"}, 9, never("no operator below opset 9 writes to computed positions"));
  registry.deprecated({"Scatter"}, 11,
                      adapt("becomes ScatterElements", [](Step& step) { step.set_op("ScatterElements"); }));
  registry.introduced({"ScatterElements"}, 11, adapt("becomes Scatter", to_scatter));
  registry.types({"ScatterElements"}, {13});
  registry.change({"ScatterElements"}, 16, compatible("the default of reduction is the older behaviour"),
                  adapt("removed reduction", reduce_in_rounds_scatter_elements));
  registry.change({"ScatterElements"}, 18, compatible("min and max are new"),
                  adapt("reductions min and max rewritten in rounds", reduce_in_rounds_scatter_elements));
}

}  // namespace onnxkit::opset
