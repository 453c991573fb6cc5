#pragma once

#include "onnxkit/element_type.h"

namespace onnxkit {

/// Half the distance between neighbours of a floating type, relative to the number: float16, bfloat16, float64, and float32 for all others.
constexpr double unit_roundoff(ElementType type) {
  switch (type) {
    case ElementType::float64:
      return 0x1p-53;
    case ElementType::float16:
      return 0x1p-11;
    case ElementType::bfloat16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

/// Standard deviation of what is uniform on [-1, 1], as the error of one rounding is in units of roundoff.
inline constexpr double deviation_of_uniform = 0.57735026918962576;

}  // namespace onnxkit
