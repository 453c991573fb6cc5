#include "libonnxkit/cpu/map/convert.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace onnxkit::cpu {
namespace {

struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};

float widened(Half half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
  const std::uint32_t rest = half.bits & 0x7fffU;
  // Exponents move by 112; the largest one means infinity and NaN in both types.
  const float scaled = std::bit_cast<float>(rest << 13) * 0x1p112F;
  const std::uint32_t bits = rest >= 0x7c00U ? (rest << 13) | 0x7f800000U : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

Half narrowed_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return {static_cast<std::uint16_t>(sign | 0x7e00U)};
  if (magnitude >= 0x477ff000U) return {static_cast<std::uint16_t>(sign | 0x7c00U)};  // rounds beyond 65504
  if (magnitude < 0x38800000U) {                                                      // below the least normal half
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;                     // 2^-1 has steps of 2^-24
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U))};
  }
  const std::uint32_t odd = magnitude >> 13 & 1U;
  return {static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + odd) >> 13))};
}

float widened(Brain brain) { return std::bit_cast<float>(static_cast<std::uint32_t>(brain.bits) << 16); }

Brain narrowed_brain(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return {static_cast<std::uint16_t>(bits >> 16 | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16)};
}

template <class Stored, class T>
T to_lane(Stored stored) {
  if constexpr (std::is_same_v<Stored, Half> || std::is_same_v<Stored, Brain>)
    return widened(stored);
  else if constexpr (std::is_same_v<Stored, bool>)
    return stored ? 1 : 0;
  else
    return static_cast<T>(stored);
}

template <class Stored, class T>
Stored from_lane(T number) {
  if constexpr (std::is_same_v<Stored, Half>)
    return narrowed_half(number);
  else if constexpr (std::is_same_v<Stored, Brain>)
    return narrowed_brain(number);
  else if constexpr (std::is_same_v<Stored, bool>)
    return number != 0;
  else
    return static_cast<Stored>(number);
}

/// Calls f with the stored type and that of its lane.
template <class F>
void dispatch_stored(ElementType type, F f) {
  switch (type) {
    case ElementType::float32:
      return f(float(), float());
    case ElementType::float16:
      return f(Half(), float());
    case ElementType::bfloat16:
      return f(Brain(), float());
    case ElementType::float64:
      return f(double(), double());
    case ElementType::int8:
      return f(std::int8_t(), std::int64_t());
    case ElementType::int16:
      return f(std::int16_t(), std::int64_t());
    case ElementType::int32:
      return f(std::int32_t(), std::int64_t());
    case ElementType::int64:
      return f(std::int64_t(), std::int64_t());
    case ElementType::uint8:
      return f(std::uint8_t(), std::int64_t());
    case ElementType::uint16:
      return f(std::uint16_t(), std::int64_t());
    case ElementType::uint32:
      return f(std::uint32_t(), std::int64_t());
    case ElementType::boolean:
      return f(bool(), std::int64_t());
    default:
      return;
  }
}

}  // namespace

void load_elements(void* to, const std::byte* from, ElementType type, std::int64_t stride, std::int64_t count) {
  dispatch_stored(type, [&]<class Stored, class T>(Stored, T) {
    auto* numbers = static_cast<T*>(to);
    const auto* stored = reinterpret_cast<const Stored*>(from);
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) numbers[i] = to_lane<Stored, T>(stored[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) numbers[i] = to_lane<Stored, T>(stored[i * stride]);
    }
  });
}

void store_elements(std::byte* to, ElementType type, std::int64_t stride, const void* from, std::int64_t count) {
  dispatch_stored(type, [&]<class Stored, class T>(Stored, T) {
    auto* stored = reinterpret_cast<Stored*>(to);
    const auto* numbers = static_cast<const T*>(from);
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) stored[i] = from_lane<Stored, T>(numbers[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) stored[i * stride] = from_lane<Stored, T>(numbers[i]);
    }
  });
}

}  // namespace onnxkit::cpu
