#pragma once

#include <optional>

#include "converters/foreign/tensorflow_family/operators.h"

// What the mappings to TensorFlow Lite have in common. Operators and options are named as in the mappings of the reader and in tflite.fbs.
namespace onnxkit::to_tflite {

using namespace tensorflow_family;

/// How operators of ONNX are written with those of TensorFlow Lite.
class Writers final : public tensorflow_family::Writers {
 public:
  Writers();
};

enum Padding : std::int64_t { same = 0, valid = 1 };

/// Scale and zero point of a QuantizeLinear or DequantizeLinear node, which are constants; else refuses.
std::optional<foreign::Quantization> quantization_from(WriteCall& call, const WriteCall& parameters, std::int64_t axis);
/// Integers as real numbers, by scale and zero point of a DequantizeLinear node.
ValueId dequantize(WriteCall& call, const WriteCall& parameters, ValueId integers, std::int64_t axis);

/// What a Cast to float32 makes of stored float16: that. nullopt for other inputs.
std::optional<foreign::Tensor> stored_halves(const WriteCall& call, std::size_t input);
/// Stored float16 as float32, in the form that runtimes know of weights.
ValueId widened(WriteCall& call, ValueId halves);

/// An input as a constant with its axes in another order: stored numbers, stored integers that DequantizeLinear reads, or stored float16 behind a
/// Cast. Otherwise a TRANSPOSE.
ValueId reordered(WriteCall& call, std::size_t input, const Ints& order);

}  // namespace onnxkit::to_tflite
