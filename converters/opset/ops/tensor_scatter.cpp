#include "converters/opset/compose/element_types.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// ScatterElements along the sequence: its index of entry i is that of the batch plus i.
void scatter_along_sequence(Step& step) {
  const ValueId cache = step.input(0), update = step.input(1);
  const std::int64_t rank = step.need_rank(cache);
  const std::int64_t axis = counted_from_front(step, step.integer("axis"), cache);
  const bool is_circular = step.string("mode") == "circular";
  const auto along = [&](ValueId vector, std::int64_t at) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank - at), 1);
    sizes[0] = -1;
    return step.add("Reshape", {vector, step.vector(sizes)}, {}, "along_axis");
  };
  ValueId index = along(count_up(step, size_of(step, update, axis)), axis);
  if (step.has_input(2)) {
    const ValueId starts = cast(step, step.input(2), ElementType::int64, "starts");
    index = step.add("Add", {index, along(starts, 0)}, {}, "index");
  }
  if (is_circular) index = step.add("Mod", {index, as_vector(step, size_of(step, cache, axis))}, {}, "around");
  const ValueId indices = step.add("Expand", {index, step.add("Shape", {update}, {}, "shape")}, {}, "indices");
  step.emit("ScatterElements", {cache, indices, update}, {step.output(0)}, {{"axis", axis}});
  step.replace();
}

}  // namespace

void register_tensor_scatter(StepRegistry& registry) {
  registry.introduced({"TensorScatter"}, 24, adapt("rewritten as ScatterElements", scatter_along_sequence));
}

}  // namespace onnxkit::opset
