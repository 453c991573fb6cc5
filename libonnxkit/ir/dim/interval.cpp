#include "libonnxkit/ir/dim/interval.h"

#include <algorithm>

namespace onnxkit::ir {
namespace {

using End = std::optional<std::int64_t>;

End add(End a, End b) {
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

End multiply(End a, End b) {
  // 0 times an unbounded end is 0: the end is a limit of integers.
  if ((a && *a == 0) || (b && *b == 0)) return 0;
  std::int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

Interval negate(const Interval& a) { return {multiply(a.high, -1), multiply(a.low, -1)}; }

}  // namespace

Interval operator+(const Interval& a, const Interval& b) { return {add(a.low, b.low), add(a.high, b.high)}; }

Interval operator*(const Interval& a, const Interval& b) {
  if (a.at_most(0)) return a.at_least(0) ? Interval::point(0) : negate(negate(a) * b);
  if (b.at_most(0)) return b * a;
  if (a.at_least(0) && b.at_least(0)) return {multiply(a.low, b.low), multiply(a.high, b.high)};
  if (a.at_least(0)) return {multiply(a.high, b.low), multiply(a.high, b.high)};
  if (b.at_least(0)) return b * a;
  const End lows = multiply(a.low, b.low), highs = multiply(a.high, b.high);
  const End down = multiply(a.low, b.high), up = multiply(a.high, b.low);
  Interval product;
  if (down && up) product.low = std::min(*down, *up);
  if (lows && highs) product.high = std::max(*lows, *highs);
  return product;
}

Interval intersection(const Interval& a, const Interval& b) {
  return {a.low && b.low ? std::max(a.low, b.low) : (a.low ? a.low : b.low),
          a.high && b.high ? std::min(a.high, b.high) : (a.high ? a.high : b.high)};
}

Interval hull(const Interval& a, const Interval& b) {
  Interval both;
  if (a.low && b.low) both.low = std::min(*a.low, *b.low);
  if (a.high && b.high) both.high = std::max(*a.high, *b.high);
  return both;
}

Interval floor_divide(const Interval& a, const Interval& b) {
  Interval quotient;
  if (a.low) {
    if (*a.low < 0)
      quotient.low = floor_divide(*a.low, *b.low);
    else
      quotient.low = b.high ? floor_divide(*a.low, *b.high) : 0;
  }
  if (a.high) {
    if (*a.high >= 0)
      quotient.high = floor_divide(*a.high, *b.low);
    else
      quotient.high = b.high ? floor_divide(*a.high, *b.high) : -1;
  }
  return quotient;
}

Interval positive_part(const Interval& a) {
  return {std::max<std::int64_t>(a.low.value_or(0), 0),
          a.high ? std::max<std::int64_t>(*a.high, 0) : std::optional<std::int64_t>()};
}

}  // namespace onnxkit::ir
