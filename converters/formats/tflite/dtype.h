#pragma once

#include <cstdint>

#include "onnxkit/element_type.h"

namespace onnxkit::tflite {

/// The element type behind the format's number; undefined for resources and variants, which are no tensors.
constexpr ElementType elem_of(std::int64_t type) {
  constexpr ElementType types[] = {ElementType::float32,  ElementType::float16,   ElementType::int32,
                                   ElementType::uint8,    ElementType::int64,     ElementType::string,
                                   ElementType::boolean,  ElementType::int16,     ElementType::complex64,
                                   ElementType::int8,     ElementType::float64,   ElementType::complex128,
                                   ElementType::uint64,   ElementType::undefined, ElementType::undefined,
                                   ElementType::uint32,   ElementType::uint16,    ElementType::int4,
                                   ElementType::bfloat16, ElementType::int2,      ElementType::uint4};
  constexpr std::int64_t count = sizeof(types) / sizeof(types[0]);
  return type >= 0 && type < count ? types[type] : ElementType::undefined;
}

}  // namespace onnxkit::tflite
