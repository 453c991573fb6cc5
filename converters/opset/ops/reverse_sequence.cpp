#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// Rows of the tensor with its first two axes made one, in another order: time t of an entry of length n is that of n - 1 - t where t < n.
void gather_rows_reverse_sequence(Step& step) {
  const std::int64_t batch_axis = step.integer("batch_axis"), time_axis = step.integer("time_axis");
  const ValueId x = step.input(0);
  const Size times = size_of(step, x, time_axis), batches = size_of(step, x, batch_axis);
  // One column for each entry of the batch, or one row.
  const bool time_first = time_axis == 0;
  const ValueId time = unsqueeze(step, count_up(step, times), {time_first ? 1 : 0}, "time");
  const ValueId batch = unsqueeze(step, count_up(step, batches), {time_first ? 0 : 1}, "batch");
  const ValueId lengths = unsqueeze(step, step.input(1), {time_first ? 0 : 1}, "lengths");
  const ValueId last = step.add("Sub", {lengths, step.vector(std::vector<std::int64_t>{1})}, {}, "last");
  const ValueId turned = step.add("Sub", {last, time}, {}, "turned");
  const ValueId is_inside = step.add("Less", {time, lengths}, {}, "is_inside");
  const ValueId source = step.add("Where", {is_inside, turned, time}, {}, "source");
  const ValueId row = time_first
                          ? step.add("Add", {step.add("Mul", {source, as_vector(step, batches)}), batch}, {}, "row")
                          : step.add("Add", {step.add("Mul", {batch, as_vector(step, times)}), source}, {}, "row");
  const ValueId rows = step.add("Flatten", {x}, {{"axis", std::int64_t{2}}}, "rows");
  const ValueId order = step.add("Reshape", {row, step.vector(std::vector<std::int64_t>{-1})}, {}, "order");
  const ValueId gathered = step.add("Gather", {rows, order}, {{"axis", std::int64_t{0}}}, "gathered");
  const ValueId shape = step.add("Shape", {x}, {}, "shape");
  step.emit("Reshape", {with_zero_sizes(step, gathered, shape), shape}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_reverse_sequence(StepRegistry& registry) {
  registry.introduced({"ReverseSequence"}, 10, adapt("rewritten as Gather of rows", gather_rows_reverse_sequence));
  registry.change({"ReverseSequence"}, 28, compatible("it only allows more types"), by_way_of(through_float32()));
}

}  // namespace onnxkit::opset
