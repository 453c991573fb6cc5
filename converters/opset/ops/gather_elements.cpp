#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// Gather from the flattened tensor: an index is the sum over all axes of a position times the axis' stride, the position along `axis` being the one given.
void gather_flat(Step& step) {
  const ValueId data = step.input(0);
  const checker::Shape* shape = step.shape(data) ? step.shape(data) : step.shape(step.input(1));
  if (!shape) refuse_unknown("the ranks of the data and the indices are unknown");
  const auto rank = static_cast<std::int64_t>(shape->size());
  std::int64_t axis = step.integer("axis");
  if (axis < 0) axis += rank;
  ValueId flat = nonnegative_indices(step, data, step.input(1), axis);
  Size stride(1);
  for (std::int64_t i = rank - 1; i >= 0; --i) {
    if (i == axis) {
      flat = step.add("Mul", {flat, as_vector(step, stride)}, {}, "scaled");
      break;
    }
    stride = product(step, stride, size_of(step, data, i));
  }
  stride = Size(1);
  for (std::int64_t i = rank - 1; i >= 0; --i) {
    if (i != axis) {
      const ValueId counted = count_up(step, size_of(step, step.input(1), i));
      const ValueId scaled = step.add("Mul", {counted, as_vector(step, stride)}, {}, "offsets");
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank - i), 1);
      sizes[0] = -1;
      flat = step.add("Add", {flat, reshape(step, scaled, sizes, "along_axis")}, {}, "flat_index");
    }
    stride = product(step, stride, size_of(step, data, i));
  }
  step.emit("Gather", {reshape(step, data, {-1}, "flat"), flat}, {step.output(0)}, {{"axis", std::int64_t{0}}});
  step.replace();
}

}  // namespace

void register_gather_elements(StepRegistry& registry) {
  registry.introduced({"GatherElements"}, 11, adapt("rewritten as Gather from the flattened tensor", gather_flat));
  registry.types({"GatherElements"}, {13});
}

}  // namespace onnxkit::opset
