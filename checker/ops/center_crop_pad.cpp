// CenterCropPad: crops or pads `axes`, or all axes, to the sizes that the second input holds.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

void infer_center_crop_pad(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const auto sizes = sizes_from_content(context, 1);
  if (!shape) return context.lose_shape(0, "the rank of the input is unknown");
  context.lose_shape_to_content(0, 1, "the target sizes are unknown");
  context.set_shape(0, unknown_sizes(shape->size()));
  std::vector<std::size_t> axes(shape->size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = i;
  if (const auto stated = context.integers("axes")) {
    const auto resolved = resolve_axes(context, *stated, shape->size(), at_attribute("axes"));
    if (!resolved) return;
    axes = *resolved;
  }
  if (length_differs(context, 1, axes.size(), "there must be one size per axis")) return;
  Shape result = *shape;
  for (std::size_t i = 0; i < axes.size(); ++i) result[axes[i]] = sizes && i < sizes->size() ? (*sizes)[i] : Dim();
  context.set_shape(0, std::move(result));
}

}  // namespace

void register_center_crop_pad(InferRegistry& registry) {
  registry.add("CenterCropPad", all_versions(), infer_center_crop_pad);
}

}  // namespace onnxkit::checker
