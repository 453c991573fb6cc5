#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace onnxkit {

/// Which bit patterns of a small float are not plain numbers.
enum class SpecialValues : std::uint8_t {
  ieee,    ///< the largest exponent means infinity or NaN
  nan,     ///< only all ones is NaN ("fn")
  zero,    ///< only negative zero is NaN ("fnuz")
  finite,  ///< none
};

struct SmallFloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  SpecialValues special;
};

inline constexpr SmallFloatFormat half_format{5, 10, 15, SpecialValues::ieee};
inline constexpr SmallFloatFormat bfloat16_format{8, 7, 127, SpecialValues::ieee};
inline constexpr SmallFloatFormat float8e4m3fn_format{4, 3, 7, SpecialValues::nan};
inline constexpr SmallFloatFormat float8e4m3fnuz_format{4, 3, 8, SpecialValues::zero};
inline constexpr SmallFloatFormat float8e5m2_format{5, 2, 15, SpecialValues::ieee};
inline constexpr SmallFloatFormat float8e5m2fnuz_format{5, 2, 16, SpecialValues::zero};
inline constexpr SmallFloatFormat float6e2m3_format{2, 3, 1, SpecialValues::finite};
inline constexpr SmallFloatFormat float6e3m2_format{3, 2, 3, SpecialValues::finite};
inline constexpr SmallFloatFormat float4e2m1_format{2, 1, 1, SpecialValues::finite};

/// 2 to the `exponent`, which must be that of a normal double.
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// The number that the low bits of `bits` stand for; a double holds all of them exactly.
constexpr double small_float_value(std::uint32_t bits, const SmallFloatFormat& format) {
  const std::uint32_t mantissa_mask = (1u << format.mantissa_bits) - 1;
  const std::uint32_t exponent_mask = (1u << format.exponent_bits) - 1;
  const std::uint32_t mantissa = bits & mantissa_mask;
  const std::uint32_t exponent = (bits >> format.mantissa_bits) & exponent_mask;
  const bool negative = ((bits >> (format.mantissa_bits + format.exponent_bits)) & 1) != 0;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.special == SpecialValues::ieee && exponent == exponent_mask) {
    const double infinity = std::numeric_limits<double>::infinity();
    return mantissa != 0 ? nan : negative ? -infinity : infinity;
  }
  if (format.special == SpecialValues::nan && exponent == exponent_mask && mantissa == mantissa_mask) return nan;
  if (format.special == SpecialValues::zero && negative && exponent == 0 && mantissa == 0) return nan;
  const std::uint32_t significand = exponent == 0 ? mantissa : mantissa | (1u << format.mantissa_bits);
  const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
  const double magnitude = static_cast<double>(significand) * power_of_two(power);
  return negative ? -magnitude : magnitude;
}

/// float8e8m0: a power of two without sign, all ones is NaN.
constexpr double float8e8m0_value(std::uint32_t bits) {
  return (bits & 0xff) == 0xff ? std::numeric_limits<double>::quiet_NaN()
                               : power_of_two(static_cast<int>(bits & 0xff) - 127);
}

}  // namespace onnxkit
