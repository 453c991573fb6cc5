// Images of other sizes.
#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

void resize(Call& call, const char* mode) {
  auto& onnx = call.onnx;
  const bool is_nearest = std::string_view(mode) == "nearest";
  const Val x = real(call, "x");
  if (call.rank(x) != 4) return call.refuse("its input does not have four axes");
  const bool aligned = call.flag("align_corners", false), centered = call.flag("half_pixel_centers", false);
  if (aligned && centered)
    return call.refuse("its corners are aligned and its pixels have centers, which no runtime does");
  std::vector<ir::Attr> attributes = {{"mode", std::string(mode)},
                                      {"coordinate_transformation_mode", std::string(aligned    ? "align_corners"
                                                                                     : centered ? "half_pixel"
                                                                                                : "asymmetric")}};
  if (is_nearest)
    attributes.push_back({"nearest_mode", std::string(aligned || centered ? "round_prefer_ceil" : "floor")});
  const Val first = channels_first(onnx, x);
  const Val kept = onnx.joined({onnx.size_of(first, 0), onnx.size_of(first, 1)});
  const Val sizes = onnx.joined({kept, as_sizes(call, "size")});
  give_channels_first(call, onnx.emit("Resize", {first, {}, {}, sizes}, attributes));
}

void map_resize_bilinear(Call& call) { resize(call, "linear"); }
void map_resize_nearest(Call& call) { resize(call, "nearest"); }

}  // namespace

void register_resize(Mappings& mappings);
void register_resize(Mappings& mappings) {
  mappings.add("RESIZE_BILINEAR", {"x", "size"}, map_resize_bilinear);
  mappings.add("RESIZE_NEAREST_NEIGHBOR", {"x", "size"}, map_resize_nearest);
}

}  // namespace onnxkit::tflite
