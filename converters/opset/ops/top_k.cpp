#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

void k_to_input(Step& step) {
  step.set_input(1, step.vector(std::vector<std::int64_t>{step.integer("k")}, "k"));
  step.remove("k");
}

std::optional<std::int64_t> known_k(Step& step) {
  const auto given = step.constant_integers(step.input(1));
  if (given && given->size() == 1) return given->front();
  const std::int64_t axis = step.integer("axis", -1);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto shape = promised_shape(step, step.output(i));
    if (!shape) continue;
    const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(shape->size()) : axis;
    if (at < 0 || at >= static_cast<std::int64_t>(shape->size())) continue;
    const checker::Dim size = (*shape)[static_cast<std::size_t>(at)];
    if (size.is_constant()) return size.constant();
  }
  return std::nullopt;
}

/// All are sorted, and the first k taken.
void take_first_of_all(Step& step) {
  const ValueId k = step.input(1);
  const checker::Shape* shape = step.shape(step.input(0));
  std::int64_t axis = step.integer("axis", -1);
  if (shape && axis < 0) axis += static_cast<std::int64_t>(shape->size());
  const bool has_axis = shape && axis >= 0 && axis < static_cast<std::int64_t>(shape->size());
  const checker::Dim size = has_axis ? (*shape)[static_cast<std::size_t>(axis)] : checker::Dim();
  if (!size.is_constant())
    refuse("k is computed at run time, but it is an attribute in version 1, and the size of the axis is unknown");
  step.set({"k", size.constant()});
  step.drop_inputs(1);
  std::vector<ValueId> all;
  for (std::size_t i = 0; i < step.output_count(); ++i) all.push_back(intercept_output(step, i, "all"));
  step.then();
  const ValueId first = count_up(step, Size::of(reshape(step, k, {1}, "k")));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (step.output(i) != ValueId::none) step.emit("Gather", {all[i], first}, {step.output(i)}, {{"axis", axis}});
  }
  step.note("all elements are sorted, as k is computed at run time");
}

void k_to_attribute(Step& step) {
  const auto k = known_k(step);
  if (!k) return take_first_of_all(step);
  step.set({"k", *k});
  step.drop_inputs(1);
}

/// Integers that float64 holds exactly, as version 10 has real numbers only.
bool fits_double(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::int16:
    case ElementType::int32:
    case ElementType::uint8:
    case ElementType::uint16:
    case ElementType::uint32:
      return true;
    default:
      return false;
  }
}

void to_largest_sorted(Step& step) {
  // Unsorted results may come in any order.
  step.remove("sorted");
  const bool largest = step.integer("largest") != 0;
  step.remove("largest");
  const ElementType type = step.elem(step.input(0));
  const bool through_double = fits_double(type);
  const std::int64_t axis = step.integer("axis", -1);
  const auto rank = step.rank(step.input(0));
  const bool reversed = axis < -1 && !rank;
  if (axis < -1) step.set({"axis", rank ? axis + *rank : -axis - 1});
  if (largest && !through_double && !reversed) return;
  ValueId x = step.input(0);
  if (through_double) x = cast(step, x, ElementType::float64, "wide");
  if (!largest) x = step.add("Neg", {x}, {}, "negated");
  if (reversed) x = step.add("Transpose", {x}, {}, "reversed");
  step.set_input(0, x);
  const bool values = step.output(0) != ValueId::none, indices = reversed && step.output(1) != ValueId::none;
  const ValueId y = values ? intercept_output(step, 0, "values") : ValueId::none;
  const ValueId reversed_indices = indices ? intercept_output(step, 1, "indices") : ValueId::none;
  step.then();
  std::vector<Link> back;
  if (reversed) back.push_back({"Transpose", {}, {}});
  if (!largest) back.push_back({"Neg", {}, {}});
  if (through_double) back.push_back({"Cast", {}, {cast_target(step, type)}});
  if (values) chain(step, y, std::move(back), step.output(0));
  if (indices) step.emit("Transpose", {reversed_indices}, {step.output(1)});
  step.note(largest ? "computed in float64, which represents the integers exactly"
                    : "the smallest elements are the largest of the negated input");
}

}  // namespace

void register_top_k(StepRegistry& registry) {
  registry.change({"TopK"}, 10, adapt("k becomes an input", k_to_input),
                  adapt("k becomes an attribute", k_to_attribute));
  registry.change({"TopK"}, 11, compatible("the defaults of largest and sorted are the older behaviour"),
                  adapt("removed largest and sorted", to_largest_sorted));
  registry.types({"TopK"}, {24});
}

}  // namespace onnxkit::opset
