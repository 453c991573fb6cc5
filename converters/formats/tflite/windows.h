#pragma once

#include "converters/foreign/tensorflow_family/windows.h"
#include "converters/formats/tflite/emit.h"

// Windows that move over the spatial axes of a value whose channels are last.
namespace onnxkit::to_tflite {

/// Padded with that value where the pads are neither those of SAME nor 0. `padding` becomes the option.
ValueId padded(WriteCall& call, ValueId x, const Windows& windows, double value, Padding& padding);

}  // namespace onnxkit::to_tflite
