// MaxRoiPool, RoiAlign, NonMaxSuppression: boxes in an image.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

Dim size_of(InferContext& context, std::size_t input, std::size_t axis) {
  const Shape* shape = context.input_shape(input);
  return shape && axis < shape->size() ? (*shape)[axis] : Dim();
}

/// Boxes [count, (batch,) x1, y1, x2, y2].
void infer_max_roi_pool(InferContext& context) {
  if (rank_differs(context, 0, 4)) return;
  require_shape(context, 1, {Dim(), 5}, "a region must be a batch index and two corners");
  const auto pooled = context.integers("pooled_shape");
  if (!pooled || pooled->size() != 2) {
    context.error({.code = "shape-mismatch",
                   .at = at_attribute("pooled_shape"),
                   .message = "pooled_shape must be a height and a width",
                   .expected = "2 entries",
                   .found = std::to_string(pooled ? pooled->size() : 0) + " entries"});
    return;
  }
  for (const std::int64_t size : *pooled) {
    if (!require_in_range(context, "pooled_shape", size, 1)) return;
  }
  context.set_shape(0, {size_of(context, 1, 0), size_of(context, 0, 1), (*pooled)[0], (*pooled)[1]});
}

void infer_roi_align(InferContext& context) {
  if (rank_differs(context, 0, 4)) return;
  const Dim from_boxes = size_of(context, 1, 0);
  const Dim from_batches = size_of(context, 2, 0);
  require_shape(context, 1, {Dim(), 4}, "a region must be two corners");
  require_shape(context, 2, {from_boxes}, "there must be one batch index per region");
  const std::int64_t height = context.integer("output_height", 1);
  const std::int64_t width = context.integer("output_width", 1);
  if (!require_in_range(context, "output_height", height, 1) || !require_in_range(context, "output_width", width, 1))
    return;
  context.set_shape(0, {from_boxes.is_unknown() ? from_batches : from_boxes, size_of(context, 0, 1), height, width});
}

/// Boxes [batches, boxes, 4] and scores [batches, classes, boxes] give rows of (batch, class, box).
void infer_non_max_suppression(InferContext& context) {
  require_in_range(context, "center_point_box", context.integer("center_point_box"), 0, 1);
  context.set_shape(0, {context.data_dependent("boxes", "the number of selected boxes depends on their scores"), 3});
  if (rank_differs(context, 0, 3) || rank_differs(context, 1, 3)) return;
  require_shape(context, 0, {Dim(), Dim(), 4}, "a box must have four numbers");
  require_shape(context, 1, {size_of(context, 0, 0), Dim(), size_of(context, 0, 1)},
                "there must be one score per box and class");
  for (const std::size_t limit : {2, 3, 4}) require_single_element(context, limit, "limits must be scalars");
}

}  // namespace

void register_regions(InferRegistry& registry) {
  registry.add("MaxRoiPool", all_versions(), infer_max_roi_pool);
  registry.add("RoiAlign", all_versions(), infer_roi_align, {.inputs = {{2, Role::row, 0}}});
  registry.add("NonMaxSuppression", all_versions(), infer_non_max_suppression,
               {.inputs = {{2, Role::size}, {3, Role::share}, {4, Role::share}}});
}

}  // namespace onnxkit::checker
