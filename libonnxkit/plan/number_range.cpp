#include "libonnxkit/plan/number_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double end_of_integers = 0x1p63, most_exact_integer = 0x1p53;

double most_of(Lane lane) {
  return lane == Lane::i64   ? end_of_integers
         : lane == Lane::f32 ? static_cast<double>(std::numeric_limits<float>::max())
                             : std::numeric_limits<double>::max();
}

NumberRange nothing() { return {.least = infinity, .most = -infinity, .whole = true}; }

/// Not less than what float32 makes of numbers up to `bound`.
double float32_above(double bound) {
  const auto nearest = static_cast<float>(bound);
  if (std::isinf(nearest) || static_cast<double>(nearest) >= bound) return static_cast<double>(nearest);
  return static_cast<double>(std::nextafter(nearest, std::numeric_limits<float>::infinity()));
}

/// Not less than an integer that is `bound` but for the rounding of double.
double integer_above(double bound) {
  return std::abs(bound) < most_exact_integer ? bound : std::nextafter(bound, infinity);
}

double above(double bound, Lane lane) {
  return lane == Lane::f32 ? float32_above(bound) : lane == Lane::i64 ? integer_above(bound) : bound;
}

/// The finite numbers of the range as a lane of reals rounds them, or infinities.
NumberRange rounded(NumberRange range, Lane lane) {
  if (range.is_empty()) return range;
  const double end = most_of(lane);
  // Of what is too small a signed zero is left.
  constexpr double smallest = std::numeric_limits<float>::min();
  if (lane == Lane::f32 && !range.whole && range.least < 0 && range.most > -smallest) range.minus_zero = true;
  range.least = -above(-range.least, lane);
  range.most = above(range.most, lane);
  if (lane == Lane::i64) {
    const bool wraps = range.least < -end || range.most > end;
    return wraps ? NumberRange::unknown(lane) : range;
  }
  range.plus_infinity = range.plus_infinity || range.most > end;
  range.minus_infinity = range.minus_infinity || range.least < -end;
  range.least = std::clamp(range.least, -end, end);
  range.most = std::clamp(range.most, -end, end);
  return range;
}

bool may_be_zero(const NumberRange& a) { return a.least <= 0 && a.most >= 0; }
bool may_be_above_zero(const NumberRange& a) { return a.plus_infinity || (!a.is_empty() && a.most > 0); }
bool may_be_below_zero(const NumberRange& a) { return a.minus_infinity || (!a.is_empty() && a.least < 0); }
bool may_be_infinite(const NumberRange& a) { return a.plus_infinity || a.minus_infinity; }

NumberRange negated(NumberRange a) {
  std::swap(a.least, a.most);
  a.least = -a.least;
  a.most = -a.most;
  std::swap(a.plus_infinity, a.minus_infinity);
  a.minus_zero = true;
  return a;
}

NumberRange either(const NumberRange& a, const NumberRange& b) {
  return {.least = std::min(a.least, b.least),
          .most = std::max(a.most, b.most),
          .whole = a.whole && b.whole,
          .minus_zero = a.minus_zero || b.minus_zero,
          .nan = a.nan || b.nan,
          .plus_infinity = a.plus_infinity || b.plus_infinity,
          .minus_infinity = a.minus_infinity || b.minus_infinity};
}

NumberRange sum_of(const NumberRange& a, const NumberRange& b) {
  NumberRange sum = nothing();
  if (!a.is_empty() && !b.is_empty()) {
    sum.least = a.least + b.least;
    sum.most = a.most + b.most;
  }
  sum.whole = a.whole && b.whole;
  sum.minus_zero = a.minus_zero && b.minus_zero;
  sum.plus_infinity = a.plus_infinity || b.plus_infinity;
  sum.minus_infinity = a.minus_infinity || b.minus_infinity;
  sum.nan = a.nan || b.nan || (a.plus_infinity && b.minus_infinity) || (a.minus_infinity && b.plus_infinity);
  return sum;
}

NumberRange product_of(const NumberRange& a, const NumberRange& b) {
  NumberRange product = nothing();
  if (!a.is_empty() && !b.is_empty()) {
    const auto [least, most] = std::minmax({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
    product.least = least;
    product.most = most;
  }
  product.whole = a.whole && b.whole;
  product.minus_zero = true;
  product.plus_infinity = (a.plus_infinity && may_be_above_zero(b)) || (a.minus_infinity && may_be_below_zero(b)) ||
                          (b.plus_infinity && may_be_above_zero(a)) || (b.minus_infinity && may_be_below_zero(a));
  product.minus_infinity = (a.plus_infinity && may_be_below_zero(b)) || (a.minus_infinity && may_be_above_zero(b)) ||
                           (b.plus_infinity && may_be_below_zero(a)) || (b.minus_infinity && may_be_above_zero(a));
  product.nan = a.nan || b.nan || (may_be_infinite(a) && may_be_zero(b)) || (may_be_infinite(b) && may_be_zero(a));
  return product;
}

/// Beside plus infinity the smaller of two numbers is the other one.
NumberRange minimum_of(const NumberRange& a, const NumberRange& b) {
  NumberRange least = nothing();
  if (!a.is_empty() && !b.is_empty()) {
    least.least = std::min(a.least, b.least);
    least.most = std::min(a.most, b.most);
  }
  const auto add_finite = [&least](const NumberRange& range) {
    least.least = std::min(least.least, range.least);
    least.most = std::max(least.most, range.most);
  };
  if (b.plus_infinity) add_finite(a);
  if (a.plus_infinity) add_finite(b);
  least.whole = a.whole && b.whole;
  least.minus_zero = a.minus_zero || b.minus_zero;
  least.nan = a.nan || b.nan;
  least.plus_infinity = a.plus_infinity && b.plus_infinity;
  least.minus_infinity = a.minus_infinity || b.minus_infinity;
  return least;
}

NumberRange maximum_of(const NumberRange& a, const NumberRange& b) {
  NumberRange most = negated(minimum_of(negated(a), negated(b)));
  most.minus_zero = a.minus_zero || b.minus_zero;
  return most;
}

NumberRange whole_of(NumberRange a) {
  if (!a.is_empty()) {
    a.minus_zero = a.minus_zero || a.least < 0;
    a.least = std::nearbyint(a.least);
    a.most = std::nearbyint(a.most);
  }
  a.whole = true;
  return a;
}

constexpr NumberRange truth{.least = 0, .most = 1, .whole = true};

}  // namespace

NumberRange NumberRange::unknown(Lane lane) {
  const double end = most_of(lane);
  const bool is_real = lane != Lane::i64;
  return {.least = -end,
          .most = end,
          .whole = !is_real,
          .minus_zero = is_real,
          .nan = is_real,
          .plus_infinity = is_real,
          .minus_infinity = is_real};
}

NumberRange NumberRange::of(ElementType stored) {
  switch (domain_of(stored)) {
    case Domain::boolean:
      return truth;
    case Domain::natural:
      if (stored == ElementType::uint64) return {.least = 0, .most = 0x1p64, .whole = true};
      [[fallthrough]];
    case Domain::integer:
      return {.least = static_cast<double>(least_of(stored)),
              .most = static_cast<double>(greatest_of(stored)),
              .whole = true};
    default:
      return unknown(lane_of(stored));
  }
}

NumberRange NumberRange::of(const Instruction& constant) {
  if (constant.lane == Lane::i64) {
    const auto value = static_cast<double>(constant.integer);
    return {.least = -integer_above(-value), .most = integer_above(value), .whole = true};
  }
  const double value =
      constant.lane == Lane::f32 ? static_cast<double>(static_cast<float>(constant.real)) : constant.real;
  NumberRange range = nothing();
  range.nan = std::isnan(value);
  range.plus_infinity = value == infinity;
  range.minus_infinity = value == -infinity;
  if (!std::isfinite(value)) return range;
  range.least = range.most = value;
  range.whole = value == std::floor(value);
  range.minus_zero = value == 0 && std::signbit(value);
  return range;
}

bool NumberRange::holds(double number) const {
  if (std::isnan(number)) return nan;
  if (std::isinf(number)) return number > 0 ? plus_infinity : minus_infinity;
  if (number == 0 && std::signbit(number) && !minus_zero) return false;
  return number >= least && number <= most && (!whole || number == std::floor(number));
}

NumberRange in_lane(const NumberRange& range, Lane lane) {
  if (lane != Lane::i64) return rounded(range, lane);
  // What becomes of other numbers is each machine's own.
  if (!range.is_finite() || range.least < -end_of_integers || range.most > end_of_integers)
    return NumberRange::unknown(lane);
  return {.least = std::trunc(range.least), .most = std::trunc(range.most), .whole = true};
}

NumberRange range_of(const Instruction& instruction, std::span<const NumberRange> operands, bool is_test_of_third) {
  const Lane lane = instruction.is_float32 ? Lane::f32 : instruction.lane;
  const auto result = [lane](NumberRange range) {
    range = rounded(range, lane);
    range.minus_zero = range.minus_zero && lane != Lane::i64;
    return range;
  };
  const auto chosen = [&](const NumberRange& range) { return instruction.is_float32 ? result(range) : range; };
  switch (instruction.operation) {
    case Operation::constant:
      return NumberRange::of(instruction);
    case Operation::convert:
      return in_lane(operands[0], lane);
    case Operation::add:
      return result(sum_of(operands[0], operands[1]));
    case Operation::subtract: {
      NumberRange difference = sum_of(operands[0], negated(operands[1]));
      difference.minus_zero = operands[0].minus_zero;
      return result(difference);
    }
    case Operation::multiply:
      return result(product_of(operands[0], operands[1]));
    case Operation::minimum:
      return chosen(minimum_of(operands[0], operands[1]));
    case Operation::maximum:
      return chosen(maximum_of(operands[0], operands[1]));
    case Operation::round_half_even:
      return result(whole_of(operands[0]));
    case Operation::select: {
      NumberRange no = operands[2];
      no.nan = no.nan && !is_test_of_third;
      return chosen(either(operands[1], no));
    }
    case Operation::is_nan:
    case Operation::is_infinite:
    case Operation::logical_not:
    case Operation::logical_and:
    case Operation::logical_or:
    case Operation::logical_xor:
    case Operation::equal:
    case Operation::less:
    case Operation::less_or_equal:
      return truth;
    default:
      return NumberRange::unknown(lane);
  }
}

bool is_test_of_third(const Expression& expression, const Instruction& instruction) {
  if (instruction.operation != Operation::select) return false;
  const Instruction& test = expression.code()[instruction.operands[0]];
  return test.operation == Operation::is_nan && test.operands[0] == instruction.operands[2];
}

std::vector<NumberRange> ranges_of(const Expression& expression, std::span<const ElementType> inputs) {
  std::vector<NumberRange> ranges;
  for (const Instruction& instruction : expression.code()) {
    if (instruction.operation == Operation::input) {
      ranges.push_back(in_lane(NumberRange::of(inputs[instruction.index]), instruction.lane));
      continue;
    }
    NumberRange operands[3] = {};
    for (int i = 0; i < arity_of(instruction.operation); ++i) operands[i] = ranges[instruction.operands[i]];
    ranges.push_back(range_of(instruction, operands, is_test_of_third(expression, instruction)));
  }
  return ranges;
}

}  // namespace onnxkit::plan
