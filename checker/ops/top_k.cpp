// TopK: the k greatest or least entries along `axis`, and where they were. k is an attribute in version 1, an input later.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

Dim count_top_k(InferContext& context) {
  if (context.since() == 1) return context.integer("k");
  length_differs(context, 1, 1, "k must be a single number");
  const Constant* value = context.input_value(1);
  if (value && value->elements.size() == 1) return value->elements.front().dim();
  return context.size_from_content(1, "k", "k of TopK is unknown");
}

void infer_top_k(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const Dim k = count_top_k(context);
  const Where at = context.since() == 1 ? at_attribute("k") : at_input(1);
  Dim size;
  for (std::size_t i = 0; i < 2; ++i) context.lose_shape(i, "the rank of the input is unknown");
  if (shape && !rank_below(context, 0, 1)) {
    const auto axis = resolve_axis(context, context.integer("axis", -1), shape->size(), at_attribute("axis"));
    if (!axis) return;
    size = (*shape)[*axis];
    Shape result = *shape;
    result[*axis] = k.is_constant() && k.constant() < 0 ? Dim() : k;
    context.set_shape(0, result);
    context.set_shape(1, std::move(result));
  }
  context.demand(SizeRelation::at_most, k, size);
  const bool too_many =
      !k.is_unknown() && !size.is_unknown() && context.dims().always_at_least(k, context.dims().add(size, 1));
  if (!too_many && !(k.is_constant() && k.constant() < 0)) return;
  context.error({.code = "index-range",
                 .at = at,
                 .message = too_many ? "k is greater than the size of the axis" : "k is negative",
                 .expected = too_many ? fmt::format("at most {}", context.text(size)) : "0 or more",
                 .found = context.text(k)});
}

}  // namespace

void register_top_k(InferRegistry& registry) {
  registry.add("TopK", all_versions(), infer_top_k, {.inputs = {{1, Role::count}}});
}

}  // namespace onnxkit::checker
