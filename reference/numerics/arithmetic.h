#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

// Arithmetic that means the same in every domain: integers wrap, nothing is undefined.
namespace onnxkit::reference {

template <class T>
T add(T a, T b) {
  if constexpr (std::signed_integral<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

template <class T>
T subtract(T a, T b) {
  if constexpr (std::signed_integral<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}

template <class T>
T multiply(T a, T b) {
  if constexpr (std::signed_integral<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

template <class T>
T negate(T a) {
  return subtract(T(), a);
}

/// Integers truncate; division by zero, which the specification leaves open, gives 0.
template <class T>
T divide(T a, T b) {
  if constexpr (std::integral<T>) {
    if (b == 0) return 0;
    if constexpr (std::signed_integral<T>) {
      if (b == -1) return negate(a);
    }
  }
  return a / b;
}

/// A real as an element of the domain of T: integers truncate; NaN gives 0 and numbers out of range the nearest end, which the specification
/// leaves open.
template <class T>
T from_real(double x) {
  if constexpr (std::integral<T>) {
    constexpr double limit = std::is_signed_v<T> ? 0x1p63 : 0x1p64;
    if (std::isnan(x)) return 0;
    if (x >= limit) return std::numeric_limits<T>::max();
    if (x <= (std::is_signed_v<T> ? -limit : 0.0)) return std::numeric_limits<T>::min();
  }
  return static_cast<T>(x);
}

/// NaN when either is NaN, as numpy's maximum and minimum.
template <class T>
T greater_of(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a < b ? b : a;
}
template <class T>
T lesser_of(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return b < a ? b : a;
}

/// The whole part of a real for integers, the real itself for double. Nothing is undefined: NaN gives 0, beyond 64 bits the nearest end;
/// what is negative wraps in unsigned types.
template <class T, std::floating_point R>
T truncate_to(R x) {
  if constexpr (std::floating_point<T>) {
    return static_cast<T>(x);
  } else {
    constexpr R beyond_signed = 9223372036854775808.0, beyond_unsigned = 18446744073709551616.0;
    if (std::isnan(x)) return 0;
    if (x < -beyond_signed) return static_cast<T>(std::numeric_limits<std::int64_t>::min());
    if (x < beyond_signed) return static_cast<T>(static_cast<std::int64_t>(x));
    if (std::unsigned_integral<T> && x < beyond_unsigned) return static_cast<T>(x);
    return std::numeric_limits<T>::max();
  }
}

/// A sum that keeps what every addition rounds off (two-sum): twice the precision of double. Infinities and NaN come out as in a plain sum.
class ExactSum {
 public:
  void add(double x) {
    const double sum = high_ + x;
    const double part = sum - high_;
    low_ += (high_ - (sum - part)) + (x - part);
    high_ = sum;
  }
  void add_product(double a, double b) {
    const double product = a * b;
    add(product);
    if (std::isfinite(product)) low_ += std::fma(a, b, -product);
  }
  double value() const { return std::isfinite(high_) ? high_ + low_ : high_; }

 private:
  double high_ = 0, low_ = 0;
};

}  // namespace onnxkit::reference
