// Images of other sizes.
#include "converters/formats/tflite/lower.h"
#include "converters/formats/tflite/rounding.h"

namespace onnxkit::tflite {
namespace {

void resize(Call& call, const char* mode) {
  const Val x = real(call, "x");
  if (call.rank(x) != 4) return call.refuse("its input does not have four axes");
  const bool aligned = call.flag("align_corners", false), centered = call.flag("half_pixel_centers", false);
  const Val first = channels_first(call.onnx, x);
  Val result = foreign::resized(call, first, as_sizes(call, "size"), mode, aligned, centered);
  if (const Quantization* from = quantized_bytes(call, "x"); from && mode == std::string_view("linear")) {
    // The kernel for integers rounds halves up, QuantizeLinear to even; halves are frequent where sizes double.
    const float little = from->scales.front() / 1024;
    result = call.onnx.emit("Add", {result, call.onnx.scalar(ElementType::float32, little)});
  }
  give_channels_first(call, result);
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
