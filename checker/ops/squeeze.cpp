// Squeeze, Unsqueeze: axes of size 1 are removed or put in. `axes` is an attribute until version 12, an input from 13 on; negative axes
// from version 11 on.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

IntegerList axes_of_squeeze(InferContext& context) {
  return context.since() < 13 ? list_from_attribute(context, "axes") : list_from_input(context, 1);
}

bool allows_negative(const InferContext& context) { return context.since() >= 11; }

/// Without `axes` every axis of size 1 goes, so all sizes must be told apart from 1.
void squeeze_ones(InferContext& context, const Shape& shape) {
  Shape result;
  for (const Dim size : shape) {
    if (size.is(1)) continue;
    if (size.is_unknown() || !context.dims().never_equal(size, 1)) {
      return context.lose_shape(0,
                                fmt::format("an axis of size {} is removed only if the size is 1", context.text(size)));
    }
    result.push_back(size);
  }
  context.set_shape(0, std::move(result));
  keep_elements(context);
}

void infer_squeeze(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const IntegerList axes = axes_of_squeeze(context);
  if (!shape) return context.lose_shape(0, "the rank of the input is unknown");
  if (!axes.present) return squeeze_ones(context, *shape);
  if (!axes.values) {
    context.lose_shape_to_content(0, 1, "the axes are unknown");
    if (axes.length && *axes.length <= shape->size()) context.set_shape(0, unknown_sizes(shape->size() - *axes.length));
    return;
  }
  const auto gone = resolve_axes(context, *axes.values, shape->size(), axes.at, allows_negative(context));
  if (!gone) return;
  Shape result;
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    const Dim size = (*shape)[axis];
    if (std::find(gone->begin(), gone->end(), axis) == gone->end()) {
      result.push_back(size);
    } else if (context.sizes_clash(size, 1)) {
      context.error({.code = "shape-mismatch",
                     .at = axes.at,
                     .message = fmt::format("axis {} cannot be removed, its size is not 1", axis),
                     .expected = fmt::format("size 1 in axis {}", axis),
                     .found = context.text(*shape)});
    }
  }
  context.set_shape(0, std::move(result));
  keep_elements(context);
}

void infer_unsqueeze(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const IntegerList axes = axes_of_squeeze(context);
  if (!shape) return context.lose_shape(0, "the rank of the input is unknown");
  if (!axes.length || *axes.length > max_rank) return context.lose_shape_to_content(0, 1, "the axes are unknown");
  const std::size_t rank = shape->size() + *axes.length;
  if (!axes.values) {
    context.lose_shape_to_content(0, 1, "the axes are unknown");
    return context.set_shape(0, unknown_sizes(rank));
  }
  const auto added = resolve_axes(context, *axes.values, rank, axes.at, allows_negative(context));
  if (!added) return;
  Shape result;
  auto next = shape->begin();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_new = std::find(added->begin(), added->end(), axis) != added->end();
    result.push_back(is_new ? Dim(1) : *next++);
  }
  context.set_shape(0, std::move(result));
  keep_elements(context);
}

}  // namespace

void register_squeeze(InferRegistry& registry) {
  registry.add("Squeeze", all_versions(), infer_squeeze,
               {.inputs = {{0, Role::moved}, {1, Role::unit_axes}}, .is_view = true});
  registry.add("Unsqueeze", all_versions(), infer_unsqueeze,
               {.inputs = {{0, Role::moved}, {1, Role::new_axes}}, .is_view = true});
}

}  // namespace onnxkit::checker
