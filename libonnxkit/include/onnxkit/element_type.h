#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "onnxkit/export.h"

namespace onnxkit {

/// Element types of tensors, numbered as TensorProto.DataType of the ONNX schema (IR version 14).
enum class ElementType : std::int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
  float6e2m3 = 27,
  float6e3m2 = 28,
};

inline constexpr int element_type_count = 29;

/// True for the numbers listed above except `undefined`.
constexpr bool is_known_element_type(std::int32_t number) { return number > 0 && number < element_type_count; }

/// Name as in ONNX type strings: "float", "int64", "bool", "float8e4m3fn"; "undefined" for 0 and unknown numbers.
ONNXKIT_API std::string_view name_of(ElementType type);

/// Inverse of name_of; also takes "float32" and "float64".
ONNXKIT_API std::optional<ElementType> element_type_named(std::string_view name);

/// Bits that one element takes in raw_data, packed without gaps (2, 4, 6, 8 ... 128); 0 for strings and undefined.
ONNXKIT_API int storage_bits(ElementType type);

constexpr bool is_floating(ElementType type) {
  const auto n = static_cast<int>(type);
  return n == 1 || n == 10 || n == 11 || (n >= 16 && n <= 20) || n == 23 || n == 24 || n == 27 || n == 28;
}
constexpr bool is_integer(ElementType type) {
  const auto n = static_cast<int>(type);
  return (n >= 2 && n <= 7) || n == 12 || n == 13 || n == 21 || n == 22 || n == 25 || n == 26;
}

}  // namespace onnxkit
