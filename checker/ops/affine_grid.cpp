// AffineGrid: positions [N, H, W, 2] or [N, D, H, W, 3] for an image of the given size, moved by the matrices theta [N, axes, axes + 1].
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

/// Axes of the image, as far as theta and the length of `size` tell.
std::optional<std::size_t> image_axes(InferContext& context, const std::optional<Shape>& size) {
  const Shape* theta = context.input_shape(0);
  if (theta && (*theta)[1].is_constant()) {
    const Dim rows = (*theta)[1];
    const Dim columns = (*theta)[2];
    const bool fits = (rows.is(2) || rows.is(3)) && (!columns.is_constant() || columns.is(rows.constant() + 1));
    if (!fits) {
      context.error({.code = "shape-mismatch",
                     .at = at_input(0),
                     .message = "theta must hold 2x3 or 3x4 matrices",
                     .expected = "[N, 2, 3] or [N, 3, 4]",
                     .found = context.text(*theta)});
      return std::nullopt;
    }
    return static_cast<std::size_t>(rows.constant());
  }
  if (!size || (size->size() != 4 && size->size() != 5)) return std::nullopt;
  return size->size() - 2;
}

void infer_affine_grid(InferContext& context) {
  if (rank_differs(context, 0, 3)) return;
  const auto size = sizes_from_content(context, 1);
  const auto axes = image_axes(context, size);
  if (!axes) return context.lose_shape(0, "the number of spatial axes (two or three) is unknown");
  context.lose_shape_to_content(0, 1, "the size of the image is unknown");
  const Shape* theta = context.input_shape(0);
  Shape result(*axes + 2);
  result.front() = theta ? theta->front() : Dim();
  result.back() = static_cast<std::int64_t>(*axes);
  const bool wrong =
      length_differs(context, 1, *axes + 2, "the size must list the batch, the channels and each spatial axis");
  if (size && !wrong && size->size() == *axes + 2) {
    for (std::size_t i = 0; i < *axes; ++i) result[i + 1] = (*size)[i + 2];
    result.front() = require_equal(
        context, result.front(), size->front(),
        {.code = "shape-mismatch", .at = at_input(1), .message = "theta must have one matrix per batch entry"});
  }
  context.set_shape(0, std::move(result));
}

}  // namespace

void register_affine_grid(InferRegistry& registry) { registry.add("AffineGrid", all_versions(), infer_affine_grid); }

}  // namespace onnxkit::checker
