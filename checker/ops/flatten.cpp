// Flatten: a matrix whose rows are the axes before `axis`. Negative axes from version 11 on; axis = rank gives one column.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

void infer_flatten(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  context.set_shape(0, unknown_sizes(2));
  if (!shape) return context.lose_shape(0, "the rank of the input is unknown");
  const auto rank = static_cast<std::int64_t>(shape->size());
  const std::int64_t least = context.since() >= 11 ? -rank : 0;
  std::int64_t axis = context.integer("axis", 1);
  if (axis < least || axis > rank) {
    context.error({.code = "axis-range",
                   .at = at_attribute("axis"),
                   .message = fmt::format("a tensor of rank {} cannot be split before axis {}", rank, axis),
                   .expected = fmt::format("{} to {}", least, rank),
                   .found = std::to_string(axis)});
    return;
  }
  if (axis < 0) axis += rank;
  const std::span<const Dim> sizes(*shape);
  const auto cut = static_cast<std::size_t>(axis);
  context.set_shape(0, {product(context, sizes.first(cut)), product(context, sizes.subspan(cut))});
  keep_elements(context);
}

}  // namespace

void register_flatten(InferRegistry& registry) {
  registry.add("Flatten", all_versions(), infer_flatten, {.inputs = {{0, Role::moved}}, .is_view = true});
}

}  // namespace onnxkit::checker
