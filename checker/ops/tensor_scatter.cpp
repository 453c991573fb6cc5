// TensorScatter: the cache, with the update written into its sequence axis from write_indices[batch] on. Cache and update differ in that axis
// only, which is not the batch axis.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

void check_update(InferContext& context, const Shape& cache, std::size_t axis) {
  const Shape* update = context.input_shape(1);
  if (rank_differs(context, 1, cache.size()) || !update) return;
  for (std::size_t i = 0; i < cache.size(); ++i) {
    const Dim excess = context.dims().sub((*update)[i], cache[i]);
    const auto least = context.dims().lower_bound(excess);
    context.demand(i == axis ? SizeRelation::at_most : SizeRelation::equal, (*update)[i], cache[i]);
    const bool too_long = i == axis && least && *least > 0;
    const bool differs = i != axis && !excess.is_unknown() && context.dims().never_equal(excess, 0);
    if (!too_long && !differs) continue;
    context.error({.code = "shape-mismatch",
                   .at = at_input(1),
                   .message = too_long ? "the update is longer than the cache"
                                       : "the update and the cache differ outside the sequence axis",
                   .expected = fmt::format("{}{} in axis {}, because the cache is {}", too_long ? "at most " : "",
                                           context.text(cache[i]), i, context.text(cache)),
                   .found = context.text(*update)});
    return;
  }
}

void infer_tensor_scatter(InferContext& context) {
  context.copy_shape(0, 0);
  const Shape* cache = context.input_shape(0);
  if (!cache || rank_below(context, 0, 2)) return;
  const auto axis = resolve_axis(context, context.integer("axis", -2), cache->size(), at_attribute("axis"));
  if (!axis) return;
  if (*axis == 0) {
    context.error({.code = "axis-range",
                   .at = at_attribute("axis"),
                   .message = "the sequence axis must not be 0, which is the batch",
                   .expected = "an axis other than 0",
                   .found = std::to_string(context.integer("axis", -2))});
    return;
  }
  check_update(context, *cache, *axis);
  const Shape* indices = context.input_shape(2);
  if (!indices || rank_differs(context, 2, 1)) return;
  require_equal(
      context, cache->front(), indices->front(),
      {.code = "shape-mismatch", .at = at_input(2), .message = "there must be one write index per batch entry"});
}

}  // namespace

void register_tensor_scatter(InferRegistry& registry) {
  registry.add("TensorScatter", all_versions(), infer_tensor_scatter);
}

}  // namespace onnxkit::checker
