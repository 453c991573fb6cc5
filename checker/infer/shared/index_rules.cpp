#include "checker/infer/shared/index_rules.h"

#include <fmt/core.h>

#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {

std::optional<std::size_t> check_element_indices(InferContext& context) {
  if (rank_below(context, 0, 1)) return std::nullopt;
  const Shape* data = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (!data) return std::nullopt;
  const auto axis = resolve_axis(context, context.integer("axis"), data->size(), at_attribute("axis"));
  if (!axis || rank_differs(context, 1, data->size())) return std::nullopt;
  check_indices(context, 1, (*data)[*axis]);
  for (std::size_t i = 0; indices && i < data->size(); ++i) {
    const Dim excess = context.dims().sub((*indices)[i], (*data)[i]);
    const auto least = context.dims().lower_bound(excess);
    if (i != *axis) context.demand(SizeRelation::at_most, (*indices)[i], (*data)[i]);
    if (i == *axis || !least || *least <= 0) continue;
    context.error({.code = "shape-mismatch",
                   .at = at_input(1),
                   .message = fmt::format("the indices are longer than the data along axis {}", i),
                   .expected = fmt::format("at most {} in axis {}", context.text((*data)[i]), i),
                   .found = context.text(*indices)});
    return std::nullopt;
  }
  return axis;
}

}  // namespace onnxkit::checker
