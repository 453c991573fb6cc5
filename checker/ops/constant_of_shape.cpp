// ConstantOfShape: a tensor of the sizes that the input holds, filled with the one element of `value` (float 0 without it).
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::checker {
namespace {

void infer_constant_of_shape(InferContext& context) {
  const ir::Tensor* filler = context.tensor("value");
  ElementType type = ElementType::float32;
  Scalar element = Scalar::integer(0);
  if (filler) {
    const auto number = filler->data_type.value_or(0);
    type = is_known_element_type(number) ? static_cast<ElementType>(number) : ElementType::undefined;
    if (filler->dims.size() != 1 || checked_element_count(filler->dims) != 1) {
      const Shape sizes(filler->dims.begin(), filler->dims.end());
      context.error({.code = "shape-mismatch",
                     .at = at_attribute("value"),
                     .message = "the fill value must be a vector of one element",
                     .expected = "[1]",
                     .found = context.text(sizes)});
    }
    const auto content = context.tensor_content(*filler);
    element = content && content->elements.size() == 1 ? content->elements.front() : Scalar();
  }
  context.set_elem(0, type);
  context.lose_shape_to_content(0, 0, "the sizes are unknown");
  auto sizes = sizes_from_content(context, 0);
  if (!sizes) return;
  context.set_shape(0, std::move(*sizes));
  set_picked(context, type, [&](std::span<const std::int64_t>) { return element; });
}

}  // namespace

void register_constant_of_shape(InferRegistry& registry) {
  registry.add("ConstantOfShape", all_versions(), infer_constant_of_shape, {.inputs = {{0, Role::size}}});
}

}  // namespace onnxkit::checker
