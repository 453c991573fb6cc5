#include "converters/formats/tflite/windows.h"

namespace onnxkit::to_tflite {

ValueId padded(WriteCall& call, ValueId x, const Windows& windows, double value, Padding& padding) {
  padding = windows.is_same ? same : valid;
  if (windows.is_same) return x;
  Ints begins = {0}, ends = {0};
  begins.insert(begins.end(), windows.begins.begin(), windows.begins.end());
  ends.insert(ends.end(), windows.ends.begin(), windows.ends.end());
  begins.push_back(0);
  ends.push_back(0);
  return pad(call, x, begins, ends, value);
}

ValueId with_two_spatial_axes(WriteCall& call, ValueId x) {
  const Type& type = call.type_of(x);
  if (!type.shape || type.shape->size() != 3) return x;
  Shape shape = *type.shape;
  shape.insert(shape.begin() + 1, Dim(1));
  return call.emit("EXPAND_DIMS", {{"x", x}, {"axis", numbers(call, {1})}}, with_shape(type, shape));
}

void give_spatial(WriteCall& call, ValueId result) {
  if (const Type& type = call.output_type(); type.shape && type.shape->size() == 3)
    result = call.emit("SQUEEZE", {{"x", result}, {"squeeze_dims", Ints{1}}}, type);
  call.result(result);
}

}  // namespace onnxkit::to_tflite
