#pragma once

#include <cstdint>

#include "onnxkit/element_type.h"

namespace onnxkit::pt2 {

/// The element type behind torch.export's number (torch._export.serde.schema.ScalarType); undefined for those that ONNX lacks.
constexpr ElementType elem_of(std::int64_t scalar_type) {
  switch (scalar_type) {
    case 1:
      return ElementType::uint8;
    case 2:
      return ElementType::int8;
    case 3:
      return ElementType::int16;
    case 4:
      return ElementType::int32;
    case 5:
      return ElementType::int64;
    case 6:
      return ElementType::float16;
    case 7:
      return ElementType::float32;
    case 8:
      return ElementType::float64;
    case 10:
      return ElementType::complex64;
    case 11:
      return ElementType::complex128;
    case 12:
      return ElementType::boolean;
    case 13:
      return ElementType::bfloat16;
    case 28:
      return ElementType::uint16;
    case 29:
      return ElementType::float8e4m3fn;
    case 30:
      return ElementType::float8e5m2;
    case 31:
      return ElementType::float8e4m3fnuz;
    case 32:
      return ElementType::float8e5m2fnuz;
    case 33:
      return ElementType::float8e8m0;
    case 34:
      return ElementType::uint32;
    case 35:
      return ElementType::uint64;
    default:
      return ElementType::undefined;
  }
}

/// torch.export's number of an element type; 0 (unknown) for those that it lacks.
constexpr std::int64_t scalar_type_of(ElementType elem) {
  constexpr std::int64_t last = 35;
  for (std::int64_t number = 1; number <= last; ++number)
    if (elem != ElementType::undefined && elem_of(number) == elem) return number;
  return 0;
}

}  // namespace onnxkit::pt2
