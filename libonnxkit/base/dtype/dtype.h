#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "onnxkit/element_type.h"

// The one table of conversions between element types as files store them and the few domains that kernels compute in.
namespace onnxkit {

/// What elements are computed in.
enum class Domain : std::uint8_t {
  real,     ///< double: all floating types; exact for all of them
  integer,  ///< std::int64_t: signed integers
  natural,  ///< std::uint64_t: unsigned integers
  boolean,  ///< bool
  string,   ///< std::string
  complex,  ///< std::complex<double>
};

constexpr Domain domain_of(ElementType type) {
  switch (type) {
    case ElementType::int2:
    case ElementType::int4:
    case ElementType::int8:
    case ElementType::int16:
    case ElementType::int32:
    case ElementType::int64:
      return Domain::integer;
    case ElementType::uint2:
    case ElementType::uint4:
    case ElementType::uint8:
    case ElementType::uint16:
    case ElementType::uint32:
    case ElementType::uint64:
      return Domain::natural;
    case ElementType::boolean:
      return Domain::boolean;
    case ElementType::string:
      return Domain::string;
    case ElementType::complex64:
    case ElementType::complex128:
      return Domain::complex;
    default:
      return Domain::real;
  }
}

constexpr bool is_16_bit_real(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16;
}
/// float32, and the types of 16 bits that it holds.
constexpr bool is_narrow_real(ElementType type) { return type == ElementType::float32 || is_16_bit_real(type); }
/// An integer of a byte.
constexpr bool is_byte(ElementType type) { return type == ElementType::int8 || type == ElementType::uint8; }

/// How a number becomes a float8e8m0, which has neither sign nor zero nor mantissa (Cast's round_mode).
enum class PowerRounding : std::uint8_t { up, down, nearest };

struct FloatConversion {
  /// Out of range: the largest finite number of float8 types, else NaN or infinity as the specification's tables of Cast say. Types
  /// without infinity and NaN always saturate, float16 and wider never do. With `saturate` off a number of the type stays what it is;
  /// else the infinities of float8e5m2 become finite.
  bool saturate = true;
  /// A float8e8m0 saturates at both ends, zero included; with `saturate` off all that lies outside the two ends is NaN. Negative numbers,
  /// which the specification leaves open, are NaN; NaN becomes -0 in float4 and float6, as in the official test vectors.
  PowerRounding power_rounding = PowerRounding::up;
};

/// The number of a floating type that `value` becomes: nearest, ties to even. `type` must be floating.
double round_to(ElementType type, double value, const FloatConversion& conversion = {});
/// Rounds in place; float64 is left alone.
void round_to(ElementType type, std::span<double> values, const FloatConversion& conversion = {});
void round_to(ElementType type, std::span<std::complex<double>> values);

/// The low bits of `value` as a number of an integer type of that domain.
std::int64_t wrap_to(ElementType type, std::int64_t value);
std::uint64_t wrap_to(ElementType type, std::uint64_t value);
void wrap_to(ElementType type, std::span<std::int64_t> values);
void wrap_to(ElementType type, std::span<std::uint64_t> values);

/// Least and greatest number of an integer type; of uint64 the greatest is reported as that of int64.
std::int64_t least_of(ElementType type);
std::int64_t greatest_of(ElementType type);
/// Largest finite number of a floating type.
double largest_finite(ElementType type);

/// Bytes that `count` packed elements take; nullopt for strings, undefined types, negative counts and overflow.
std::optional<std::uint64_t> packed_size(ElementType type, std::int64_t count);

/// Elements as raw_data packs them to their domain. `bytes` must hold out.size() elements of a type of that domain.
void decode(ElementType type, std::span<const std::byte> bytes, std::span<double> out);
void decode(ElementType type, std::span<const std::byte> bytes, std::span<std::int64_t> out);
void decode(ElementType type, std::span<const std::byte> bytes, std::span<std::uint64_t> out);
void decode(ElementType type, std::span<const std::byte> bytes, std::span<bool> out);
void decode(ElementType type, std::span<const std::byte> bytes, std::span<std::complex<double>> out);

/// The way back. Numbers of the type are kept, infinities and quiet NaNs too; others are rounded as by round_to, or wrapped. `bytes` must have room for in.size() elements; bits left over in the last byte
/// become 0.
void encode(ElementType type, std::span<const double> in, std::span<std::byte> bytes);
void encode(ElementType type, std::span<const std::int64_t> in, std::span<std::byte> bytes);
void encode(ElementType type, std::span<const std::uint64_t> in, std::span<std::byte> bytes);
void encode(ElementType type, std::span<const bool> in, std::span<std::byte> bytes);
void encode(ElementType type, std::span<const std::complex<double>> in, std::span<std::byte> bytes);

}  // namespace onnxkit
