#pragma once

#include <cstdint>
#include <type_traits>

#include "onnxkit/element_type.h"

namespace onnxkit::cpu {

/// Calls f with an integer as wide as an element of so many bytes: 1, 2, 4 or 8.
template <class F>
void by_width(std::int64_t bytes, const F& f) {
  if (bytes == 1)
    f(std::uint8_t());
  else if (bytes == 2)
    f(std::uint16_t());
  else if (bytes == 4)
    f(std::uint32_t());
  else
    f(std::uint64_t());
}

/// Calls f with a number of the type that steps compute in: float32, float64, or int64 for all others.
template <class F>
void by_number(ElementType type, const F& f) {
  if (type == ElementType::float32)
    f(float());
  else if (type == ElementType::float64)
    f(double());
  else
    f(std::int64_t());
}

/// Sums and products of integers wrap.
template <class T>
T added(T x, T y) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  return static_cast<T>(static_cast<Wrapping>(x) + static_cast<Wrapping>(y));
}
template <class T>
T multiplied(T x, T y) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  return static_cast<T>(static_cast<Wrapping>(x) * static_cast<Wrapping>(y));
}

/// Each number `times` times, side by side; a constant, which GCC makes vectors of.
template <std::int64_t times, class T>
void repeat_numbers(T* to, const T* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T number = from[i];
    for (std::int64_t k = 0; k < times; ++k) to[i * times + k] = number;
  }
}

}  // namespace onnxkit::cpu
