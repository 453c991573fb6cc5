#pragma once

#include "converters/foreign/tensorflow_family/operators.h"

// What the mappings to TensorFlow have in common. Operators and attributes are named as in TensorFlow; inputs come in its order.
namespace onnxkit::to_tensorflow {

using namespace tensorflow_family;

/// How operators of ONNX are written with those of TensorFlow.
class Writers final : public tensorflow_family::Writers {};

/// 0, 1, ... up to a size, as a vector of int32.
ValueId counted(WriteCall& call, Dim size);

/// An input with its axes in another order: a constant where its numbers are stored, else a Transpose.
ValueId reordered(WriteCall& call, std::size_t input, const Ints& order);

/// Refuses other elements than float16, bfloat16, float32 and float64.
bool is_real(WriteCall& call, std::size_t input = 0);

}  // namespace onnxkit::to_tensorflow
