#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

void count_from_front(Step& step) {
  const std::int64_t axis = step.integer("axis");
  if (axis >= 0) return;
  const ValueId x = step.input(0);
  if (const auto rank = step.rank(x)) return step.set({"axis", axis + *rank});
  const ValueId rows = product_of(step, sizes_of(step, x, 0, axis));
  const ValueId columns = product_of(step, sizes_of(step, x, axis, to_the_end));
  const ValueId shape = step.add("Concat", {rows, columns}, {{"axis", std::int64_t{0}}}, "rows_and_columns");
  step.emit("Reshape", {with_zero_sizes(step, x, shape), shape}, {step.output(0)});
  step.replace();
  step.note("the rank is unknown: reshaped to products of the sizes");
}

}  // namespace

void register_flatten(StepRegistry& registry) {
  registry.types({"Flatten"}, {9, 13, 21, 23, 24, 25});
  registry.change({"Flatten"}, 11, compatible("axis may also be negative"),
                  adapt("axis made non-negative", count_from_front));
}

}  // namespace onnxkit::opset
