// Operators of torchvision: the best of boxes that overlap, what images show in regions, and convolutions at shifted places.
#include "converters/foreign/boxes.h"
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

void map_nms(Call& call) {
  auto& onnx = call.onnx;
  const Val boxes = call.tensor("dets");
  if (onnx.elem(boxes) == ElementType::float64) return call.refuse("ONNX compares boxes of float32 only");
  const std::vector<double> overlap{call.real("iou_threshold", 0)};
  call.result(foreign::best_boxes(onnx, boxes, call.tensor("scores"), onnx.size_of(boxes, 0),
                                  {onnx.reals(ElementType::float32, {1}, overlap)}));
}

/// A column of the regions [images, left, top, right, bottom].
Val image_of(Call& call, Val regions) {
  auto& onnx = call.onnx;
  const Val first =
      onnx.emit("Gather", {regions, onnx.scalar_integer(ElementType::int64, 0)}, {{"axis", std::int64_t{1}}});
  return onnx.cast(first, ElementType::int64);
}

void map_roi_align(Call& call) {
  auto& onnx = call.onnx;
  const Val images = call.tensor("input"), regions = call.tensor("rois");
  const Val corners = onnx.emit("Slice", {regions, onnx.integers({1}), onnx.integers({5}), onnx.integers({1})});
  const std::string mode = call.flag("aligned", false) ? "half_pixel" : "output_half_pixel";
  // As many samples as a region is large: 0 here, -1 or 0 there.
  const std::int64_t samples = std::max<std::int64_t>(call.integer("sampling_ratio", -1), 0);
  call.result(onnx.emit("RoiAlign", {images, corners, image_of(call, regions)},
                        {{"output_height", call.integer("pooled_height", 1)},
                         {"output_width", call.integer("pooled_width", 1)},
                         {"sampling_ratio", samples},
                         {"spatial_scale", static_cast<float>(call.real("spatial_scale", 1))},
                         {"coordinate_transformation_mode", mode}}));
}

/// Where the greatest elements are is for the gradients of training.
void map_roi_pool(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<std::int64_t> sizes{call.integer("pooled_height", 1), call.integer("pooled_width", 1)};
  const Val pooled =
      onnx.emit("MaxRoiPool", {call.tensor("input"), call.tensor("rois")},
                {{"pooled_shape", sizes}, {"spatial_scale", static_cast<float>(call.real("spatial_scale", 1))}});
  call.results({pooled, Val{}});
}

std::vector<std::int64_t> pair(Call& call, std::string_view stem, std::int64_t fallback) {
  const std::string name(stem);
  return {call.integer(name + "_h", fallback), call.integer(name + "_w", fallback)};
}

void map_deform_conv2d(Call& call) {
  constexpr std::int64_t opset_of_deform_conv = 19;
  if (!call.has_opset(opset_of_deform_conv)) return;
  auto& onnx = call.onnx;
  std::vector<Val> inputs{call.tensor("input"), call.tensor("weight"), call.tensor("offset"), call.tensor("bias")};
  if (call.flag("use_mask", false)) inputs.push_back(call.tensor("mask"));
  const auto pads = pair(call, "pad", 0);
  call.result(onnx.emit("DeformConv", inputs,
                        {{"strides", pair(call, "stride", 1)},
                         {"pads", std::vector{pads[0], pads[1], pads[0], pads[1]}},
                         {"dilations", pair(call, "dilation", 1)},
                         {"group", call.integer("groups", 1)},
                         {"offset_group", call.integer("offset_groups", 1)}}));
}

}  // namespace

void register_regions(Mappings& mappings);
void register_regions(Mappings& mappings) {
  mappings.add("torchvision.nms.default", map_nms);
  mappings.add("torchvision.roi_align.default", map_roi_align);
  mappings.add("torchvision.roi_pool.default", map_roi_pool);
  mappings.add("torchvision.deform_conv2d.default", map_deform_conv2d);
}

}  // namespace onnxkit::pt2
