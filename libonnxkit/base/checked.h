#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

namespace onnxkit {

/// Arithmetic on numbers that come from files: nullopt instead of overflow.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_sub(T a, T b) {
  T difference{};
  if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
  return difference;
}

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// Product of dimensions; nullopt when one is negative or the product overflows. A zero anywhere gives 0.
[[nodiscard]] constexpr std::optional<std::int64_t> checked_element_count(std::span<const std::int64_t> dims) {
  std::optional<std::int64_t> count = 1;
  bool zero = false;
  for (const std::int64_t d : dims) {
    if (d < 0) return std::nullopt;
    zero = zero || d == 0;
    if (count) count = checked_mul(*count, d);
  }
  return zero ? 0 : count;
}

}  // namespace onnxkit
