#include "converters/formats/tflite/windows.h"

namespace onnxkit::to_tflite {

ValueId padded(WriteCall& call, ValueId x, const Windows& windows, double value, Padding& padding) {
  padding = windows.is_same ? same : valid;
  if (windows.is_same) return x;
  return pad(call, x, for_all_axes(windows.begins, 0), for_all_axes(windows.ends, 0), value);
}

}  // namespace onnxkit::to_tflite
