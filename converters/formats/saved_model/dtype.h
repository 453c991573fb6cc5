#pragma once

#include <cstdint>

#include "onnxkit/element_type.h"

namespace onnxkit::saved_model {

/// TensorFlow's numbers of types that matter here.
enum DataType : std::int64_t { dt_string = 7, dt_resource = 20, dt_variant = 21, dt_first_reference = 100 };

/// The element type behind TensorFlow's number; that of a reference is that of what it refers to. Undefined for resources and variants,
/// which are no tensors, and for types without a counterpart.
constexpr ElementType elem_of(std::int64_t type) {
  constexpr ElementType none = ElementType::undefined;
  constexpr ElementType types[] = {none,
                                   ElementType::float32,
                                   ElementType::float64,
                                   ElementType::int32,
                                   ElementType::uint8,
                                   ElementType::int16,
                                   ElementType::int8,
                                   ElementType::string,
                                   ElementType::complex64,
                                   ElementType::int64,
                                   ElementType::boolean,
                                   none,
                                   none,
                                   none,
                                   ElementType::bfloat16,
                                   none,
                                   none,
                                   ElementType::uint16,
                                   ElementType::complex128,
                                   ElementType::float16,
                                   none,
                                   none,
                                   ElementType::uint32,
                                   ElementType::uint64,
                                   ElementType::float8e5m2,
                                   ElementType::float8e4m3fn};
  constexpr std::int64_t count = sizeof(types) / sizeof(types[0]);
  if (type > dt_first_reference) type -= dt_first_reference;
  return type >= 0 && type < count ? types[type] : none;
}

}  // namespace onnxkit::saved_model
