#include <algorithm>

#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// Flattens to two dimensions before, and gives the shape back after: what Softmax did until opset 12, in operators of opset 13.
void flatten_around(Step& step, std::int64_t axis) {
  const ValueId x = step.input(0);
  const ValueId flat = step.add("Flatten", {x}, {{"axis", axis}}, "flat");
  const ValueId shape = step.add("Shape", {x}, {}, "shape");
  const ValueId two_dimensional = step.value("two_dimensional");
  step.set_input(0, flat);
  step.set({"axis", std::int64_t{1}});
  step.set_output(0, two_dimensional);
  step.then();
  // Reshape reads a size of 0 as one to copy, which only an empty tensor has.
  const auto sizes = step.sizes(x);
  const bool has_elements =
      sizes && std::all_of(sizes->begin(), sizes->end(), [](std::int64_t size) { return size > 0; });
  const ValueId result = has_elements ? two_dimensional : with_zero_sizes(step, two_dimensional, shape);
  step.emit("Reshape", {result, shape}, {step.output(0)});
}

/// One axis means the same as flattening where all behind it has one element.
bool all_one_behind(const Step& step, std::int64_t axis) {
  const checker::Shape* shape = step.shape(step.input(0));
  if (!shape) return false;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape->size(); ++i) {
    if (!(*shape)[i].is(1)) return false;
  }
  return true;
}

void to_one_axis(Step& step) {
  const std::int64_t axis = step.integer("axis");
  const auto rank = step.rank(step.input(0));
  if (axis == -1 || (rank && (axis == *rank - 1 ||
                              (axis < *rank && all_one_behind(step, counted_from_front(step, axis, step.input(0)))))))
    return;
  flatten_around(step, axis);
  step.note("flattened at axis before, restored after");
}

/// The axis last: moved there, two-dimensional from there on, moved back.
void to_flattened(Step& step) {
  const std::int64_t given = step.integer("axis");
  const auto rank = step.rank(step.input(0));
  if (given == -1 && !rank && step.opset_after() >= 11) return;
  const std::int64_t axis = counted_from_front(step, given, step.input(0));
  if ((rank && axis == *rank - 1) || all_one_behind(step, axis)) {
    if (axis != given || !step.has("axis")) step.set({"axis", axis});
    return;
  }
  const std::int64_t last = step.need_rank(step.input(0)) - 1;
  std::vector<std::int64_t> swapped;
  for (std::int64_t i = 0; i <= last; ++i) swapped.push_back(i == axis ? last : i == last ? axis : i);
  const ValueId moved = step.add("Transpose", {step.input(0)}, {{"perm", swapped}}, "moved");
  const ValueId result = step.value("along_last");
  step.set_input(0, moved);
  step.set({"axis", last});
  step.set_output(0, result);
  step.then();
  step.emit("Transpose", {result}, {step.output(0)}, {{"perm", swapped}});
  step.note("the axis is moved to the end and back");
}

}  // namespace

void register_softmax(StepRegistry& registry) {
  const StepRegistry::Names family = {"Softmax", "LogSoftmax", "Hardmax"};
  registry.change(family, 11, compatible("axis may also be negative"), nonnegative_axis("axis"));
  registry.change(family, 13, adapt("operates along one axis", to_one_axis),
                  adapt("operates on two dimensions", to_flattened));
}

}  // namespace onnxkit::opset
