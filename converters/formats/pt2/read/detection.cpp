// Operators of torchvision: boxes that overlap less, and windows of images at boxes.
#include <algorithm>
#include <limits>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// The places of boxes that stay, by descending scores.
void map_nms(Call& call) {
  auto& onnx = call.onnx;
  const Val boxes = onnx.unsqueeze(onnx.cast(call.tensor("dets"), ElementType::float32), {0});
  const Val scores = onnx.unsqueeze(onnx.cast(call.tensor("scores"), ElementType::float32), {0, 1});
  const double threshold = call.real("iou_threshold", 0);
  if (call.refused()) return;
  const Val most = onnx.integers({std::numeric_limits<std::int64_t>::max()});
  const Val kept = onnx.emit("NonMaxSuppression", {boxes, scores, most, onnx.scalar(ElementType::float32, threshold)});
  call.result(onnx.emit("Gather", {kept, onnx.scalar_integer(ElementType::int64, 2)}, {{"axis", std::int64_t{1}}}));
}

void map_roi_align(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input"), rois = call.tensor("rois");
  const auto columns = [&](std::int64_t begin, std::int64_t end) {
    return onnx.emit("Slice", {rois, onnx.integers({begin}), onnx.integers({end}), onnx.integers({1})});
  };
  const Val images = onnx.cast(onnx.squeeze(columns(0, 1), {1}), ElementType::int64);
  const std::int64_t samples = std::max<std::int64_t>(call.integer("sampling_ratio", -1), 0);
  const std::string placed = call.flag("aligned", false) ? "half_pixel" : "output_half_pixel";
  call.result(onnx.emit("RoiAlign", {x, columns(1, 5), images},
                        {{"output_height", call.integer("pooled_height", 1)},
                         {"output_width", call.integer("pooled_width", 1)},
                         {"sampling_ratio", samples},
                         {"spatial_scale", static_cast<float>(call.real("spatial_scale", 1))},
                         {"coordinate_transformation_mode", placed}}));
}

}  // namespace

void register_detection(Mappings& mappings);
void register_detection(Mappings& mappings) {
  mappings.add("torchvision.nms.default", map_nms);
  mappings.add("torchvision.roi_align.default", map_roi_align);
}

}  // namespace onnxkit::pt2
