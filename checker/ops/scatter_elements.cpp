// ScatterElements, and Scatter until opset 10: the data, with an update put at each index along `axis`. Indices and updates have one shape.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/index_rules.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void check_updates_scatter_elements(InferContext& context) {
  const Shape* indices = context.input_shape(1);
  const Shape* updates = context.input_shape(2);
  if (!indices || rank_differs(context, 2, indices->size()) || !updates) return;
  for (std::size_t i = 0; i < indices->size(); ++i) {
    require_equal(context, (*indices)[i], (*updates)[i],
                  {.code = "shape-mismatch",
                   .at = at_input(2),
                   .message = "there must be one update per index",
                   .expected = fmt::format("{}, the shape of the indices", context.text(*indices)),
                   .found = context.text(*updates)});
  }
}

void put_elements_scatter_elements(InferContext& context, std::size_t axis) {
  const Constant* data = movable_value(context, 0);
  const Constant* indices = movable_value(context, 1);
  const Constant* updates = movable_value(context, 2);
  const bool plain = context.string("reduction").empty() || context.string("reduction") == "none";
  if (!data || !indices || !updates || !plain || indices->shape != updates->shape) return;
  Constant result = *data;
  bool known = true;
  build_value(data->type, indices->shape, [&](std::span<const std::int64_t> at) {
    const std::size_t update = flat_index(indices->shape, at);
    const Dim index = indices->elements[update].dim();
    const std::int64_t limit = data->shape[axis];
    known = known && index.is_constant() && index.constant() >= -limit && index.constant() < limit;
    if (!known) return Scalar();
    std::vector<std::int64_t> target(at.begin(), at.end());
    target[axis] = index.constant() < 0 ? index.constant() + limit : index.constant();
    result.elements[flat_index(data->shape, target)] = updates->elements[update];
    return Scalar();
  });
  if (known) context.set_value(0, std::move(result));
}

void infer_scatter_elements(InferContext& context) {
  context.copy_shape(0, 0);
  const auto axis = check_element_indices(context);
  check_updates_scatter_elements(context);
  if (axis) put_elements_scatter_elements(context, *axis);
}

}  // namespace

void register_scatter_elements(InferRegistry& registry) {
  registry.add("Scatter", all_versions(), infer_scatter_elements, {.inputs = {{1, Role::index}}});
  registry.add("ScatterElements", all_versions(), infer_scatter_elements, {.inputs = {{1, Role::index}}});
}

}  // namespace onnxkit::checker
