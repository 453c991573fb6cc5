#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

/// Where column - row is at least, or at most, k.
ValueId triangle(Step& step, bool upper) {
  const ValueId x = step.input(0);
  const auto k = step.has_input(1) ? step.constant_integers(step.input(1)) : std::vector<std::int64_t>{0};
  const checker::Shape* shape = step.shape(x);
  const std::size_t rank = shape ? shape->size() : 0;
  if (k && k->size() == 1 && rank >= 2 && (*shape)[rank - 1].is_constant() && (*shape)[rank - 2].is_constant()) {
    const std::int64_t rows = (*shape)[rank - 2].constant(), columns = (*shape)[rank - 1].constant();
    if (is_foldable(std::vector{rows, columns})) {
      std::vector<double> mask;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j)
          mask.push_back((upper ? j - i >= k->front() : j - i <= k->front()) ? 1 : 0);
      }
      return step.numbers(ElementType::boolean, {rows, columns}, mask, "triangle");
    }
  }
  const ValueId rows = count_up(step, Size::of(size_vector(step, x, -2)));
  const ValueId columns = count_up(step, Size::of(size_vector(step, x, -1)));
  const ValueId above = step.add("Sub", {columns, unsqueeze(step, rows, {1}, "rows")}, {}, "above");
  const ValueId diagonal =
      step.has_input(1)
          ? step.add("Reshape", {step.input(1), step.vector(std::vector<std::int64_t>{1})}, {}, "diagonal")
          : step.vector(std::vector<std::int64_t>{0}, "diagonal");
  return step.add(upper ? "GreaterOrEqual" : "LessOrEqual", {above, diagonal}, {}, "triangle");
}

void choose_with_where(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  const bool is_half = type == ElementType::bfloat16;
  const ElementType wide = is_half ? ElementType::float32 : type;
  const ValueId mask = triangle(step, step.integer("upper") != 0);
  const ValueId x = cast(step, step.input(0), wide, "wide");
  const ValueId result = is_half ? step.value("wide") : step.output(0);
  step.emit("Where", {mask, x, step.number(wide, 0, "zero")}, {result});
  if (is_half) cast_into(step, result, type, step.output(0));
  step.replace();
}

}  // namespace

void register_trilu(StepRegistry& registry) {
  registry.introduced({"Trilu"}, 14, adapt("rewritten as Where with a triangle", choose_with_where));
}

}  // namespace onnxkit::opset
