#pragma once

#include <cstdint>
#include <optional>

namespace onnxkit::ir {

/// The integers from `low` to `high`; a missing end is unbounded.
struct Interval {
  std::optional<std::int64_t> low;
  std::optional<std::int64_t> high;

  static constexpr Interval point(std::int64_t value) { return {value, value}; }
  constexpr bool at_least(std::int64_t value) const { return low && *low >= value; }
  constexpr bool at_most(std::int64_t value) const { return high && *high <= value; }
};

// An end that overflows becomes unbounded.
Interval operator+(const Interval& a, const Interval& b);
Interval operator*(const Interval& a, const Interval& b);
Interval intersection(const Interval& a, const Interval& b);
/// Smallest interval that holds both.
Interval hull(const Interval& a, const Interval& b);
/// floor(a / b). Precondition: b.at_least(1).
Interval floor_divide(const Interval& a, const Interval& b);
/// max(a, 0)
Interval positive_part(const Interval& a);

/// Towards minus infinity. Precondition: b > 0.
constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace onnxkit::ir
