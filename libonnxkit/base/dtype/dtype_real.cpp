#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/packed.h"
#include "libonnxkit/base/dtype/small_float.h"

namespace onnxkit {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;
constexpr std::uint64_t exponent_field = std::uint64_t{0x7ff} << 52;

constexpr std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

/// What follows from a format.
template <SmallFloatFormat F>
struct FormatLimits {
  static constexpr int magnitude_bits = F.exponent_bits + F.mantissa_bits;
  static constexpr std::uint32_t sign_code = 1u << magnitude_bits;
  static constexpr std::uint32_t mantissa_mask = (1u << F.mantissa_bits) - 1;
  static constexpr std::uint32_t infinity_code = ((1u << F.exponent_bits) - 1) << F.mantissa_bits;  ///< ieee only
  static constexpr std::uint32_t largest_code = F.special == SpecialValues::ieee  ? infinity_code - 1
                                                : F.special == SpecialValues::nan ? sign_code - 2
                                                                                  : sign_code - 1;
  /// float4 and float6 have none, -0 stands in.
  static constexpr std::uint32_t nan_code = F.special == SpecialValues::ieee
                                                ? infinity_code | 1u << (F.mantissa_bits - 1)
                                            : F.special == SpecialValues::nan ? sign_code - 1
                                                                              : sign_code;
  static constexpr double largest = small_float_value(largest_code, F);
  static constexpr double smallest_normal = power_of_two(1 - F.bias);
  static constexpr double beyond_largest = power_of_two(static_cast<int>(largest_code >> F.mantissa_bits) - F.bias + 1);
  static constexpr bool never_saturates = F.special == SpecialValues::ieee && magnitude_bits == 15;
};

/// A magnitude rounded to the format's precision by adding a number so large that the sum's last bit is that of the result.
template <SmallFloatFormat F>
struct Rounded {
  double binade;  ///< the power of two at or below the magnitude, within the format's exponents
  double shift;
  double sum;

  explicit Rounded(double magnitude) {
    const double power = std::bit_cast<double>(bits_of(magnitude) & exponent_field);
    const double raised = power < FormatLimits<F>::smallest_normal ? FormatLimits<F>::smallest_normal : power;
    binade = raised > FormatLimits<F>::beyond_largest ? FormatLimits<F>::beyond_largest : raised;
    shift = binade * power_of_two(52 - F.mantissa_bits);
    sum = magnitude + shift;
  }
  double value() const { return sum - shift; }
  /// Exponent and mantissa as the format stores them; a carry out of the mantissa raises the exponent.
  std::uint64_t code() const {
    return (bits_of(sum) - bits_of(shift)) +
           ((bits_of(binade) - bits_of(FormatLimits<F>::smallest_normal)) >> (52 - F.mantissa_bits));
  }
};

template <SmallFloatFormat F>
double overflow_of(const FloatConversion& conversion) {
  if (F.special == SpecialValues::finite) return FormatLimits<F>::largest;
  if (conversion.saturate && !FormatLimits<F>::never_saturates) return FormatLimits<F>::largest;
  return F.special == SpecialValues::ieee ? infinity : quiet_nan;
}

template <SmallFloatFormat F>
double round_one(double value, double overflow) {
  const double magnitude = std::bit_cast<double>(bits_of(value) & ~sign_bit);
  double rounded = Rounded<F>(magnitude).value();
  rounded = rounded > FormatLimits<F>::largest ? overflow : rounded;
  const double result = std::bit_cast<double>(bits_of(rounded) | (bits_of(value) & sign_bit));
  if constexpr (F.special == SpecialValues::zero) return result + 0.0;  // -0 becomes 0
  if constexpr (F.special == SpecialValues::finite) return value != value ? -0.0 : result;
  return result;
}

/// Keeps infinities, and what a NaN carries, where the format has them; else overflow gives `overflow`.
template <SmallFloatFormat F>
std::uint32_t encode_one(double value) {
  constexpr bool has_infinity = F.special == SpecialValues::ieee;
  constexpr std::uint32_t overflow =
      FormatLimits<F>::never_saturates ? FormatLimits<F>::infinity_code : FormatLimits<F>::largest_code;
  const double magnitude = std::bit_cast<double>(bits_of(value) & ~sign_bit);
  const Rounded<F> rounded(magnitude);
  std::uint64_t code = rounded.code();
  code = rounded.value() > FormatLimits<F>::largest ? overflow : code;
  if constexpr (has_infinity) code = magnitude == infinity ? FormatLimits<F>::infinity_code : code;
  std::uint64_t nan_code = FormatLimits<F>::nan_code;
  if constexpr (has_infinity) nan_code |= bits_of(magnitude) >> (52 - F.mantissa_bits) & FormatLimits<F>::mantissa_mask;
  std::uint64_t sign = bits_of(value) >> 63 << FormatLimits<F>::magnitude_bits;
  if constexpr (F.special == SpecialValues::zero) sign = code == 0 ? 0 : sign;
  if constexpr (F.special == SpecialValues::finite) sign = value != value ? 0 : sign;
  code = value != value ? nan_code : code;
  return static_cast<std::uint32_t>(code | sign);
}

double round_to_power(double value, const FloatConversion& conversion) {
  constexpr double least = power_of_two(-127), greatest = power_of_two(127);
  if (value != value || value < 0) return quiet_nan;
  if (value < least || value > greatest) {
    if (!conversion.saturate) return quiet_nan;
    return value < least ? least : greatest;
  }
  const double below = std::bit_cast<double>(bits_of(value) & exponent_field);
  switch (conversion.power_rounding) {
    case PowerRounding::up:
      return value > below ? 2 * below : below;
    case PowerRounding::nearest:
      return value >= 1.5 * below ? 2 * below : below;
    default:
      return below;
  }
}

std::uint32_t encode_power(double value) {
  const double power = round_to_power(value, {});
  return power != power ? 0xff : static_cast<std::uint32_t>(bits_of(power) >> 52) - (1023 - 127);
}

template <class T>
T load(const std::byte* bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void store(std::byte* bytes, std::size_t index, T value) {
  std::memcpy(bytes + index * sizeof(T), &value, sizeof(T));
}

double half_value(std::uint16_t half) {
  const std::uint64_t magnitude = half & 0x7fffu;
  const std::uint64_t shifted = magnitude << 42;
  const double normal = std::bit_cast<double>(shifted + (std::uint64_t{1023 - 15} << 52));
  const double special = std::bit_cast<double>(shifted | exponent_field);
  const double subnormal = static_cast<double>(static_cast<std::int32_t>(magnitude)) * power_of_two(-24);
  const double value = magnitude >= 0x7c00 ? special : magnitude < 0x400 ? subnormal : normal;
  return std::bit_cast<double>(bits_of(value) | std::uint64_t{half & 0x8000u} << 48);
}

double bfloat16_value(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

template <SmallFloatFormat F>
constexpr auto make_values() {
  std::array<double, 2 * FormatLimits<F>::sign_code> values{};
  for (std::uint32_t code = 0; code < values.size(); ++code) {
    values[code] = small_float_value(code, F);
    if (values[code] == values[code]) continue;
    const std::uint64_t sign = std::uint64_t{code >> FormatLimits<F>::magnitude_bits} << 63;
    const std::uint64_t payload = std::uint64_t{code & FormatLimits<F>::mantissa_mask} << (52 - F.mantissa_bits);
    values[code] = std::bit_cast<double>(bits_of(quiet_nan) | sign | payload);
  }
  return values;
}
template <SmallFloatFormat F>
constexpr auto values_of = make_values<F>();

template <SmallFloatFormat F>
void decode_small(std::span<const std::byte> bytes, std::span<double> out) {
  constexpr int bits = FormatLimits<F>::magnitude_bits + 1;
  constexpr auto& values = values_of<F>;
  if constexpr (bits == 8) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[std::to_integer<std::size_t>(bytes[i])];
  } else {
    unpack_codes<bits>(bytes, out.size(), [&](std::size_t i, std::uint32_t code) { out[i] = values[code]; });
  }
}

template <SmallFloatFormat F>
void encode_small(std::span<const double> in, std::span<std::byte> bytes) {
  constexpr int bits = FormatLimits<F>::magnitude_bits + 1;
  if constexpr (bits >= 8) {
    using Code = std::conditional_t<bits == 8, std::uint8_t, std::uint16_t>;
    std::byte* out = bytes.data();
    for (std::size_t i = 0; i < in.size(); ++i) store(out, i, static_cast<Code>(encode_one<F>(in[i])));
  } else {
    pack_codes<bits>(in.size(), bytes, [&](std::size_t i) { return encode_one<F>(in[i]); });
  }
}

template <SmallFloatFormat F>
void round_small(std::span<double> values, const FloatConversion& conversion) {
  const double overflow = overflow_of<F>(conversion);
  for (double& value : values) value = round_one<F>(value, overflow);
}

/// Calls f.template operator()<format>() for the types that are small floats with a sign; false for others.
template <class F>
bool with_format(ElementType type, F&& f) {
  switch (type) {
    case ElementType::float16:
      f.template operator()<half_format>();
      return true;
    case ElementType::bfloat16:
      f.template operator()<bfloat16_format>();
      return true;
    case ElementType::float8e4m3fn:
      f.template operator()<float8e4m3fn_format>();
      return true;
    case ElementType::float8e4m3fnuz:
      f.template operator()<float8e4m3fnuz_format>();
      return true;
    case ElementType::float8e5m2:
      f.template operator()<float8e5m2_format>();
      return true;
    case ElementType::float8e5m2fnuz:
      f.template operator()<float8e5m2fnuz_format>();
      return true;
    case ElementType::float6e2m3:
      f.template operator()<float6e2m3_format>();
      return true;
    case ElementType::float6e3m2:
      f.template operator()<float6e3m2_format>();
      return true;
    case ElementType::float4e2m1:
      f.template operator()<float4e2m1_format>();
      return true;
    default:
      return false;
  }
}

}  // namespace

void round_to(ElementType type, std::span<double> values, const FloatConversion& conversion) {
  if (type == ElementType::float32) {
    for (double& value : values) value = static_cast<float>(value);
  } else if (type == ElementType::float8e8m0) {
    for (double& value : values) value = round_to_power(value, conversion);
  } else {
    with_format(type, [&]<SmallFloatFormat F>() { round_small<F>(values, conversion); });
  }
}

double round_to(ElementType type, double value, const FloatConversion& conversion) {
  round_to(type, std::span(&value, 1), conversion);
  return value;
}

double largest_finite(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return std::numeric_limits<float>::max();
    case ElementType::float8e8m0:
      return power_of_two(127);
    default:
      break;
  }
  double largest = std::numeric_limits<double>::max();
  with_format(type, [&]<SmallFloatFormat F>() { largest = FormatLimits<F>::largest; });
  return largest;
}

void decode(ElementType type, std::span<const std::byte> bytes, std::span<double> out) {
  const std::byte* from = bytes.data();
  const std::size_t count = out.size();
  switch (type) {
    case ElementType::float64:
      if (count > 0) std::memcpy(out.data(), from, count * sizeof(double));
      break;
    case ElementType::float32:
      for (std::size_t i = 0; i < count; ++i) out[i] = load<float>(from, i);
      break;
    case ElementType::float16:
      for (std::size_t i = 0; i < count; ++i) out[i] = half_value(load<std::uint16_t>(from, i));
      break;
    case ElementType::bfloat16:
      for (std::size_t i = 0; i < count; ++i) out[i] = bfloat16_value(load<std::uint16_t>(from, i));
      break;
    case ElementType::float8e8m0:
      for (std::size_t i = 0; i < count; ++i) out[i] = float8e8m0_value(load<std::uint8_t>(from, i));
      break;
    default:
      with_format(type, [&]<SmallFloatFormat F>() {
        if constexpr (FormatLimits<F>::magnitude_bits < 8) decode_small<F>(bytes, out);
      });
  }
}

void encode(ElementType type, std::span<const double> in, std::span<std::byte> bytes) {
  std::byte* to = bytes.data();
  switch (type) {
    case ElementType::float64:
      if (!in.empty()) std::memcpy(to, in.data(), in.size_bytes());
      break;
    case ElementType::float32:
      for (std::size_t i = 0; i < in.size(); ++i) store(to, i, static_cast<float>(in[i]));
      break;
    case ElementType::float8e8m0:
      for (std::size_t i = 0; i < in.size(); ++i) store(to, i, static_cast<std::uint8_t>(encode_power(in[i])));
      break;
    default:
      with_format(type, [&]<SmallFloatFormat F>() { encode_small<F>(in, bytes); });
  }
}

}  // namespace onnxkit
