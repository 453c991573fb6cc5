#include "converters/foreign/boxes.h"

namespace onnxkit::foreign {

Val best_boxes(OnnxBuilder& onnx, Val boxes, Val scores, Val most, const std::vector<Val>& bounds) {
  std::vector<Val> inputs = {onnx.unsqueeze(onnx.cast(boxes, ElementType::float32), {0}),
                             onnx.unsqueeze(onnx.cast(scores, ElementType::float32), {0, 1}), most};
  inputs.insert(inputs.end(), bounds.begin(), bounds.end());
  // The operator is for several images and classes, and gives a row of image, class and box.
  const Val rows = onnx.emit("NonMaxSuppression", inputs);
  return onnx.emit("Gather", {rows, onnx.scalar_integer(ElementType::int64, 2)}, {{"axis", std::int64_t{1}}});
}

}  // namespace onnxkit::foreign
