// OneHot: the indices with a further axis of size `depth`. `values` holds the pair off and on.
#include <cmath>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

Dim depth(InferContext& context) {
  const Constant* value = context.input_value(1);
  if (!value || value->elements.size() != 1)
    return context.size_from_content(1, "depth", "the depth of OneHot is unknown");
  const Scalar& element = value->elements.front();
  Dim depth = element.dim();
  if (const auto real = element.constant_real(); real && std::abs(*real) < 9e18)
    depth = static_cast<std::int64_t>(*real);
  if (depth.is_constant() && depth.constant() < 0) {
    context.error({.code = "negative-size",
                   .at = at_input(1),
                   .message = "the depth must not be negative",
                   .expected = "0 or more",
                   .found = context.text(depth)});
    return {};
  }
  return depth;
}

void infer_one_hot(InferContext& context) {
  const Shape* indices = context.input_shape(0);
  is_not_single(context, 1, "rank-mismatch");
  length_differs(context, 2, 2, "values must be the pair [off, on]");
  if (!indices) return context.lose_shape(0, "the rank of the indices is unknown");
  const auto axis = resolve_axis(context, context.integer("axis", -1), indices->size() + 1, at_attribute("axis"));
  if (!axis) return;
  Shape result = *indices;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(*axis), depth(context));
  context.set_shape(0, std::move(result));
}

}  // namespace

void register_one_hot(InferRegistry& registry) {
  registry.add("OneHot", all_versions(), infer_one_hot, {.inputs = {{1, Role::size}}});
}

}  // namespace onnxkit::checker
