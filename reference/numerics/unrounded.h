#pragma once

#include "onnxkit/element_type.h"

namespace onnxkit::reference {

/// Elements of this type stay double between nodes, and come out as float64, in unrounded runs.
constexpr bool is_unrounded_type(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float16 || type == ElementType::bfloat16;
}

/// Numbers of this type get errors in noisy runs.
constexpr bool is_noisy_type(ElementType type) { return is_unrounded_type(type) || type == ElementType::float64; }

/// What quantized numbers are stored in.
constexpr bool is_quantized_type(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8 || type == ElementType::int16 ||
         type == ElementType::uint16 || type == ElementType::int4 || type == ElementType::uint4;
}

}  // namespace onnxkit::reference
