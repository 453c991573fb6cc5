#pragma once

#include "converters/foreign/graph.h"

namespace onnxkit::to_tflite {

/// What only moves or picks elements does so with integers instead of the real numbers that they stand for: QUANTIZE goes before it, and DEQUANTIZE
/// behind it. uint8 becomes int8, as kernels for it are left to old models.
void move_integers(foreign::Model& model);

}  // namespace onnxkit::to_tflite
