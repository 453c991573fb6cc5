#include <fmt/format.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/element_types.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

ElementType result_type(Step& step) {
  const auto named = step.find_integer("dtype");
  if (!named) return step.need_elem(step.input(0));
  if (!is_known_element_type(static_cast<std::int32_t>(*named)))
    refuse(fmt::format("dtype {} is not an element type", *named));
  return static_cast<ElementType>(*named);
}

/// The input gives its shape only, so any type will do; the result is cast.
void without_bfloat16_eye_like(Step& step) {
  const ElementType from = step.elem(step.input(0)), to = result_type(step);
  if (from == ElementType::bfloat16) step.set_input(0, cast(step, step.input(0), ElementType::float32));
  if (to != ElementType::bfloat16) {
    if (from == ElementType::bfloat16) step.set({"dtype", static_cast<std::int64_t>(to)});
    return;
  }
  step.set({"dtype", static_cast<std::int64_t>(ElementType::float32)});
  const ValueId wide = step.value("wide");
  step.set_output(0, wide);
  step.then();
  cast_into(step, wide, to, step.output(0));
}

/// The column is so far behind the row.
void computed_matrix(Step& step, ElementType type) {
  const ValueId rows = unsqueeze(step, count_up(step, size_of(step, step.input(0), 0)), {1}, "rows");
  const ValueId columns = count_up(step, size_of(step, step.input(0), 1));
  const ValueId diagonal = step.add("Add", {rows, step.scalar(step.integer("k"), "k")}, {}, "diagonal");
  cast_into(step, step.add("Equal", {columns, diagonal}, {}, "is_one"), type, step.output(0));
  step.replace();
  step.note("rows and columns are compared");
}

void constant_matrix(Step& step) {
  const ElementType type = result_type(step);
  const auto sizes = step.sizes(step.input(0));
  if (!sizes || sizes->size() != 2) return computed_matrix(step, type);
  const std::int64_t count = storable_count(*sizes), columns = (*sizes)[1], k = step.integer("k");
  std::vector<double> elements;
  for (std::int64_t at = 0; at < count; ++at) elements.push_back(at % columns - at / columns == k ? 1 : 0);
  const ValueId matrix = step.numbers(type, *sizes, elements, "matrix");
  step.emit("Identity", {matrix}, {step.output(0)});
  step.replace();
  step.note("rewritten as a constant");
}

}  // namespace

void register_eye_like(StepRegistry& registry) {
  registry.introduced({"EyeLike"}, 9,
                      adapt("rewritten as a constant, or rows and columns are compared", constant_matrix));
  registry.change({"EyeLike"}, 22, compatible("it only allows more types"),
                  adapt("bfloat16 computed through Cast", without_bfloat16_eye_like));
}

}  // namespace onnxkit::opset
