#pragma once

#include "converters/foreign/graph.h"

namespace onnxkit::to_tflite {

/// Operators between DEQUANTIZE and QUANTIZE compute on the integers where their kernels do so: with one scale for each value, weights around 0,
/// and a bias of int32 with the product of both scales. uint8 becomes int8, as kernels for it are left to old models. What is not quantized on all
/// sides stays between DEQUANTIZE and QUANTIZE.
void compute_on_integers(foreign::Model& model);

}  // namespace onnxkit::to_tflite
