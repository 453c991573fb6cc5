// What the numbers of expressions may be (libonnxkit/plan/number_range.h).
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/number_range.h"

namespace onnxkit::tests::number_range {
namespace {

using plan::Expression;
using plan::Instruction;
using plan::Lane;
using plan::NumberRange;
using plan::Operation;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Lane lanes[] = {Lane::f32, Lane::f64, Lane::i64};
constexpr ElementType types[] = {ElementType::boolean, ElementType::int8,    ElementType::uint8,   ElementType::int16,
                                 ElementType::int32,   ElementType::uint32,  ElementType::int64,   ElementType::float32,
                                 ElementType::float64, ElementType::float16, ElementType::bfloat16};

class Random {
 public:
  std::size_t below(std::size_t end) { return engine_() % end; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T, std::size_t n>
  T of(const T (&list)[n]) {
    return list[below(n)];
  }

  /// An end of the type, a number beside it or one in between.
  double element(ElementType type) {
    if (domain_of(type) == Domain::boolean) return static_cast<double>(below(2));
    if (domain_of(type) != Domain::real) {
      const auto least = static_cast<double>(least_of(type)), most = static_cast<double>(greatest_of(type));
      const double some[] = {
          least, most, 0, 1, std::max(least, -1.0), std::max(least, -3.0), 100, std::floor(most / 3)};
      return of(some);
    }
    const double most = largest_finite(type);
    const double some[] = {0,     -0.0,     0.5,       -0.5,         1,     -1, 1.5, -2.5, most,
                           -most, infinity, -infinity, std::nan(""), 3e-40, 7,  -1e4};
    const double number = of(some);
    return type == ElementType::float64 ? number : static_cast<double>(static_cast<float>(number));
  }
  double constant() {
    const double some[] = {0,    -0.0, 1,    -1,    0.5,      2,        -3.25,     127,
                           -128, 255,  1e30, -1e38, 16777217, infinity, -infinity, std::nan("")};
    return of(some);
  }

 private:
  std::mt19937_64 engine_{7};
};

/// A number in one of the lanes.
struct Number {
  double real = 0;
  std::int64_t integer = 0;
};

std::int64_t integer_of(double real) {
  return std::abs(real) < 0x1p63 ? static_cast<std::int64_t>(real) : std::numeric_limits<std::int64_t>::min();
}
Number in_lane(double real, Lane lane) {
  if (lane == Lane::i64) return {.real = 0, .integer = integer_of(real)};
  return {.real = lane == Lane::f32 ? static_cast<double>(static_cast<float>(real)) : real, .integer = 0};
}
Number converted(const Number& number, Lane from, Lane to) {
  if (from == to) return number;
  return in_lane(from == Lane::i64 ? static_cast<double>(number.integer) : number.real, to);
}

Number of_integers(Operation operation, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  const auto wrapped = [](std::uint64_t number) {
    return Number{.real = 0, .integer = static_cast<std::int64_t>(number)};
  };
  switch (operation) {
    case Operation::add:
      return wrapped(x + y);
    case Operation::subtract:
      return wrapped(x - y);
    case Operation::multiply:
      return wrapped(x * y);
    case Operation::minimum:
      return {.real = 0, .integer = std::min(a, b)};
    case Operation::maximum:
      return {.real = 0, .integer = std::max(a, b)};
    case Operation::less:
      return {.real = 0, .integer = a < b};
    default:
      return {.real = 0, .integer = a};
  }
}

double of_reals(Operation operation, double a, double b) {
  const bool is_nan = std::isnan(a) || std::isnan(b);
  switch (operation) {
    case Operation::add:
      return a + b;
    case Operation::subtract:
      return a - b;
    case Operation::multiply:
      return a * b;
    case Operation::minimum:
      return is_nan ? a + b : b < a ? b : a;
    case Operation::maximum:
      return is_nan ? a + b : b > a ? b : a;
    case Operation::round_half_even:
      return std::nearbyint(a);
    case Operation::negate:
      return -a;
    default:
      return a;
  }
}

Number value_of(const Expression& expression, const Instruction& instruction, std::span<const Number> known,
                std::span<const double> inputs) {
  const auto of = [&](int i) { return known[instruction.operands[i]]; };
  const Lane before = expression.lane(instruction.operands[0]);
  switch (instruction.operation) {
    case Operation::input:
      return in_lane(inputs[instruction.index], instruction.lane);
    case Operation::constant:
      return instruction.lane == Lane::i64 ? Number{.real = 0, .integer = instruction.integer}
                                           : in_lane(instruction.real, instruction.lane);
    case Operation::convert:
      return converted(of(0), before, instruction.is_float32 ? Lane::f32 : instruction.lane);
    case Operation::is_nan:
      return {.real = 0, .integer = std::isnan(of(0).real)};
    case Operation::less:
      return before == Lane::i64 ? of_integers(Operation::less, of(0).integer, of(1).integer)
                                 : Number{.real = 0, .integer = of(0).real < of(1).real};
    case Operation::select: {
      const Number chosen = of(0).integer != 0 ? of(1) : of(2);
      return instruction.is_float32 ? in_lane(chosen.real, Lane::f32) : chosen;
    }
    default:
      break;
  }
  const Number a = of(0), b = plan::arity_of(instruction.operation) > 1 ? of(1) : Number{};
  if (instruction.lane == Lane::i64) return of_integers(instruction.operation, a.integer, b.integer);
  return in_lane(of_reals(instruction.operation, a.real, b.real),
                 instruction.is_float32 ? Lane::f32 : instruction.lane);
}

/// Of so many instructions over the inputs, each of what came before it.
class Maker {
 public:
  Maker(Random& random, std::size_t inputs) : random_(random), inputs_(inputs) {}

  Expression make(std::size_t length) {
    for (const Lane lane : lanes) add(e_.constant(lane, lane == Lane::i64 ? 3 : random_.constant()));
    while (e_.code().size() < length) add(next());
    return e_;
  }

 private:
  void add(Expression::Number number) {
    const bool is_made = plan::arity_of(e_.code()[number].operation) > 0;
    if (is_made && e_.lane(number) == Lane::f64 && random_.one_in(5)) e_.as_float32(number);
    numbers_[static_cast<std::size_t>(e_.lane(number))].push_back(number);
  }
  Expression::Number some(Lane lane) {
    const auto& all = numbers_[static_cast<std::size_t>(lane)];
    return all[random_.below(all.size())];
  }
  Expression::Number next() {
    constexpr Operation of_two[] = {Operation::add,     Operation::subtract, Operation::multiply,
                                    Operation::minimum, Operation::maximum,  Operation::less};
    constexpr std::int64_t integers[] = {0, 1, -1, 255, -1000000, std::numeric_limits<std::int64_t>::max()};
    const Lane lane = random_.of(lanes);
    switch (random_.below(8)) {
      case 0:
        return e_.input(random_.below(inputs_), lane);
      case 1:
        return lane == Lane::i64 ? e_.integer(random_.of(integers)) : e_.constant(lane, random_.constant());
      case 2:
        return e_.convert(some(random_.of(lanes)), lane);
      case 3: {
        const auto number = some(lane);
        if (lane == Lane::i64 || random_.one_in(2))
          return e_.apply(Operation::select, some(Lane::i64), number, some(lane));
        const auto test = e_.apply(Operation::is_nan, number);
        add(test);
        return e_.apply(Operation::select, test, some(lane), number);
      }
      case 4:
        return lane == Lane::i64
                   ? some(lane)
                   : e_.apply(random_.one_in(4) ? Operation::negate : Operation::round_half_even, some(lane));
      default:
        return e_.apply(random_.of(of_two), some(lane), some(lane));
    }
  }

  Random& random_;
  std::size_t inputs_;
  Expression e_;
  std::vector<Expression::Number> numbers_[3];
};

}  // namespace

TEST_CASE("each number of a random expression lies in its range") {
  Random random;
  std::int64_t outside = 0, bounded = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<ElementType> inputs(1 + random.below(3));
    for (ElementType& type : inputs) type = random.of(types);
    const Expression expression = Maker(random, inputs.size()).make(4 + random.below(16));
    const std::vector<NumberRange> ranges = plan::ranges_of(expression, inputs);
    for (const NumberRange& range : ranges) bounded += range.is_finite() && std::abs(range.most) < 1e6;
    for (int sample = 0; sample < 40; ++sample) {
      std::vector<double> elements;
      for (const ElementType type : inputs) elements.push_back(random.element(type));
      std::vector<Number> known;
      for (const Instruction& instruction : expression.code()) {
        known.push_back(value_of(expression, instruction, known, elements));
        const Number& number = known.back();
        const NumberRange& range = ranges[known.size() - 1];
        if (range.holds(instruction.lane == Lane::i64 ? static_cast<double>(number.integer) : number.real)) continue;
        if (outside++ > 3) continue;
        MESSAGE(fmt::format("{} of {}: number {} is {} or {}, not in [{}, {}]", i, expression.text(), known.size() - 1,
                            number.real, number.integer, range.least, range.most));
      }
    }
  }
  CHECK(outside == 0);
  CHECK(bounded > 4000);
}

TEST_CASE("ranges of sums and products of bytes are those of their ends") {
  Expression e;
  const auto x = e.input(0, Lane::i64), y = e.input(1, Lane::i64);
  const auto sum = e.apply(Operation::add, x, y), product = e.apply(Operation::multiply, x, y);
  const ElementType inputs[] = {ElementType::int8, ElementType::uint8};
  const std::vector<NumberRange> ranges = plan::ranges_of(e, inputs);
  CHECK(ranges[sum].least == -128);
  CHECK(ranges[sum].most == 382);
  CHECK(ranges[product].least == -128 * 255);
  CHECK(ranges[product].most == 127 * 255);
  for (const auto number : {sum, product}) {
    CHECK(ranges[number].whole);
    CHECK(ranges[number].is_finite());
    CHECK_FALSE(ranges[number].minus_zero);
  }
}

TEST_CASE("zero times infinity is NaN, one times infinity is not") {
  const auto product_of = [](double factor) {
    Expression e;
    const auto infinite = e.constant(Lane::f32, -infinity);
    e.apply(Operation::multiply, infinite, e.constant(Lane::f32, factor));
    return plan::ranges_of(e, {}).back();
  };
  CHECK(product_of(0).nan);
  CHECK(product_of(0).is_empty());
  CHECK_FALSE(product_of(1).nan);
  CHECK(product_of(1).minus_infinity);
  CHECK(product_of(-1).plus_infinity);
  CHECK_FALSE(product_of(-1).minus_infinity);
}

TEST_CASE("a bound of an unknown real makes it finite, and what is_nan chooses for makes it a number") {
  Expression e;
  const auto x = e.input(0, Lane::f32);
  const auto number = e.apply(Operation::select, e.apply(Operation::is_nan, x), e.constant(Lane::f32, 0), x);
  const auto whole = e.apply(Operation::round_half_even, number);
  e.apply(Operation::minimum, e.apply(Operation::maximum, whole, e.constant(Lane::f32, -128)),
          e.constant(Lane::f32, 127));
  const ElementType inputs[] = {ElementType::float32};
  const NumberRange range = plan::ranges_of(e, inputs).back();
  CHECK(range.is_finite());
  CHECK(range.whole);
  CHECK(range.least == -128);
  CHECK(range.most == 127);
}

}  // namespace onnxkit::tests::number_range
