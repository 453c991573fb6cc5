// GridSample: the image [N, C, ...] read at the positions of a grid [N, ..., axes]; 2-D only in version 16.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_grid_sample(InferContext& context) {
  const bool flat_only = context.since() < 20;
  if (flat_only ? rank_differs(context, 0, 4) || rank_differs(context, 1, 4)
                : rank_below(context, 0, 3) || rank_below(context, 1, 3)) {
    return context.lose_shape(0, "the image or the grid has the wrong rank");
  }
  const Shape* image = context.input_shape(0);
  const Shape* grid = context.input_shape(1);
  if (!image && !grid) return context.lose_shape(0, "the rank of the input is unknown");
  const std::size_t rank = image ? image->size() : grid->size();
  if (rank_differs(context, 1, rank)) return;
  Shape result(rank);
  if (image) {
    result[0] = (*image)[0];
    result[1] = (*image)[1];
  }
  if (grid) {
    const auto axes = static_cast<std::int64_t>(rank - 2);
    require_equal(context, axes, grid->back(),
                  {.code = "shape-mismatch",
                   .at = at_input(1),
                   .message = "the last axis of the grid must hold one coordinate per spatial axis of the image"});
    result[0] = require_equal(
        context, result[0], grid->front(),
        {.code = "shape-mismatch", .at = at_input(1), .message = "image and grid must have the same batch size"});
    for (std::size_t i = 2; i < rank; ++i) result[i] = (*grid)[i - 1];
  }
  context.set_shape(0, std::move(result));
}

}  // namespace

void register_grid_sample(InferRegistry& registry) { registry.add("GridSample", all_versions(), infer_grid_sample); }

}  // namespace onnxkit::checker
