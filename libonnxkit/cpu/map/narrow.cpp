#include "libonnxkit/cpu/map/narrow.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::cpu {
namespace {

using plan::Expression;
using plan::Instruction;
using plan::Lane;
using plan::Operation;

constexpr double most_exact = 1 << 24;

/// What is known of a number of the new expression.
struct Range {
  bool is_whole = false;  ///< an integer, or infinite
  bool may_be_nan = true;
  bool may_be_minus_zero = true;  ///< which integers do not know
  double least = -INFINITY, most = INFINITY;

  bool is_exact() const { return is_whole && !may_be_nan && least >= -most_exact && most <= most_exact; }
};

class Narrower {
 public:
  Narrower(const Expression& expression, std::span<const ElementType> inputs) : from_(expression), inputs_(inputs) {}

  Expression run(ElementType result) {
    for (const Instruction& instruction : from_.code()) add(instruction);
    const Expression::Number last = numbers_.back();
    const bool is_stored_narrow = is_byte(result) && fits(ranges_[last], result);
    const Lane lane = from_.lane(from_.last());
    if (to_.lane(last) != lane && !is_stored_narrow)
      in_lane(last, lane);
    else if (last != to_.last())
      return from_;  // the last number has to be the result
    return to_;
  }

 private:
  static bool fits(const Range& range, ElementType type) {
    return range.is_exact() && range.least >= static_cast<double>(least_of(type)) &&
           range.most <= static_cast<double>(greatest_of(type));
  }

  Expression::Number note(Expression::Number number, const Range& range) {
    if (ranges_.size() <= number) ranges_.resize(number + 1);
    ranges_[number] = range;
    return number;
  }

  Expression::Number in_lane(Expression::Number number, Lane lane) {
    if (to_.lane(number) == lane) return number;
    const Range range = ranges_[number];
    return note(to_.convert(number, lane), range);
  }

  void add(const Instruction& instruction) { numbers_.push_back(added(instruction)); }

  Expression::Number added(const Instruction& instruction) {
    switch (instruction.operation) {
      case Operation::input:
        return input(instruction);
      case Operation::constant:
        return constant(instruction);
      case Operation::convert:
        return conversion(instruction);
      case Operation::round_to: {
        const Expression::Number of = in_lane(operand(instruction, 0), instruction.lane);
        return note(to_.round_to(of, instruction.type), {});
      }
      default:
        return operation(instruction);
    }
  }

  Expression::Number operand(const Instruction& instruction, int i) const { return numbers_[instruction.operands[i]]; }

  Expression::Number input(const Instruction& instruction) {
    const ElementType type = inputs_[instruction.index];
    if (!is_byte(type)) return note(to_.input(instruction.index, instruction.lane), {});
    return note(to_.input(instruction.index, Lane::f32),
                {true, false, false, static_cast<double>(least_of(type)), static_cast<double>(greatest_of(type))});
  }

  Expression::Number constant(const Instruction& instruction) {
    if (instruction.lane == Lane::i64) {
      const auto value = static_cast<double>(instruction.integer);
      if (std::abs(value) > most_exact) return note(to_.integer(instruction.integer), {});
      return note(to_.constant(Lane::f32, value), {true, false, false, value, value});
    }
    const double value = instruction.lane == Lane::f32 ? static_cast<float>(instruction.real) : instruction.real;
    const Range range{std::isfinite(value) && value == std::floor(value), std::isnan(value),
                      value == 0 && std::signbit(value), value, value};
    return note(to_.constant(instruction.lane, instruction.real), range);
  }

  /// Between lanes a whole number that float32 holds stays where it is; to float64 it goes.
  Expression::Number conversion(const Instruction& instruction) {
    const Expression::Number of = operand(instruction, 0);
    const Lane before = from_.lane(instruction.operands[0]);
    if (before == instruction.lane) return of;
    if (to_.lane(of) != Lane::f32 || !ranges_[of].is_exact())
      return note(to_.convert(in_lane(of, before), instruction.lane), {});
    Range range = ranges_[of];
    const Expression::Number whole =
        range.may_be_minus_zero ? to_.apply(Operation::add, of, to_.constant(Lane::f32, 0)) : of;
    range.may_be_minus_zero = false;
    note(whole, range);
    return instruction.lane == Lane::f64 ? note(to_.convert(whole, Lane::f64), {}) : whole;
  }

  Expression::Number operation(const Instruction& instruction) {
    const int arity = plan::arity_of(instruction.operation);
    if (instruction.lane == Lane::i64 && keeps_narrow(instruction)) {
      const Expression::Number a = operand(instruction, 0), b = arity > 1 ? operand(instruction, 1) : 0;
      const Range range = range_of(instruction);
      return note(to_.apply(instruction.operation, a, b), range);
    }
    const Range range = instruction.lane == Lane::f32 ? range_of(instruction) : Range{};
    Expression::Number operands[3] = {};
    for (int i = 0; i < arity; ++i) operands[i] = in_lane(operand(instruction, i), from_.lane(instruction.operands[i]));
    const Expression::Number made = to_.apply(instruction.operation, operands[0], operands[1], operands[2]);
    return note(instruction.is_float32 ? to_.as_float32(made) : made, range);
  }

  /// Of integers in float32, with a result that it holds exactly.
  bool keeps_narrow(const Instruction& instruction) const {
    const int arity = plan::arity_of(instruction.operation);
    if (arity > 2) return false;  // what select is told by is an integer
    for (int i = 0; i < arity; ++i) {
      const Expression::Number of = operand(instruction, i);
      if (from_.lane(instruction.operands[i]) != Lane::i64 || to_.lane(of) != Lane::f32 || !ranges_[of].is_exact())
        return false;
    }
    return arity > 0 && range_of(instruction).is_exact();
  }

  Range range_of(const Instruction& instruction) const {
    const auto of = [&](int i) { return ranges_[operand(instruction, i)]; };
    switch (instruction.operation) {
      case Operation::add: {
        const Range a = of(0), b = of(1);
        Range sum = whole_of(a, b, a.least + b.least, a.most + b.most);
        sum.may_be_minus_zero = a.may_be_minus_zero && b.may_be_minus_zero;
        return sum;
      }
      case Operation::subtract: {
        const Range a = of(0), b = of(1);
        Range difference = whole_of(a, b, a.least - b.most, a.most - b.least);
        difference.may_be_minus_zero = a.may_be_minus_zero;
        return difference;
      }
      case Operation::multiply: {
        const Range a = of(0), b = of(1);
        const auto [least, most] =
            std::minmax({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
        Range product = whole_of(a, b, least, most);
        product.may_be_minus_zero = true;
        return product;
      }
      case Operation::minimum: {
        const Range a = of(0), b = of(1);
        return whole_of(a, b, std::min(a.least, b.least), std::min(a.most, b.most));
      }
      case Operation::maximum: {
        const Range a = of(0), b = of(1);
        return whole_of(a, b, std::max(a.least, b.least), std::max(a.most, b.most));
      }
      case Operation::round_half_even:
        return {true, of(0).may_be_nan, true, -INFINITY, INFINITY};
      case Operation::select:
        return chosen(instruction);
      default:
        return {};
    }
  }

  /// Sums of whole numbers that float32 does not hold are whole all the same; infinities may cancel.
  static Range whole_of(const Range& a, const Range& b, double least, double most) {
    if (std::isnan(least) || std::isnan(most)) return {};
    const bool is_finite = std::isfinite(a.least) && std::isfinite(a.most);
    const bool other_is_finite = std::isfinite(b.least) && std::isfinite(b.most);
    return {a.is_whole && b.is_whole, a.may_be_nan || b.may_be_nan || (!is_finite && !other_is_finite),
            a.may_be_minus_zero || b.may_be_minus_zero, least, most};
  }

  /// What is_nan chooses a constant for is no NaN.
  Range chosen(const Instruction& instruction) const {
    const Instruction& test = from_.code()[instruction.operands[0]];
    const Range yes = ranges_[operand(instruction, 1)], no = ranges_[operand(instruction, 2)];
    const bool clears = test.operation == Operation::is_nan && test.operands[0] == instruction.operands[2];
    return {yes.is_whole && no.is_whole, yes.may_be_nan || (no.may_be_nan && !clears),
            yes.may_be_minus_zero || no.may_be_minus_zero, std::min(yes.least, no.least), std::max(yes.most, no.most)};
  }

  const Expression& from_;
  std::span<const ElementType> inputs_;
  Expression to_;
  std::vector<Expression::Number> numbers_;  ///< by instruction of the old expression
  std::vector<Range> ranges_;                ///< by instruction of the new one
};

}  // namespace

plan::Expression with_narrow_integers(const plan::Expression& expression, std::span<const ElementType> inputs,
                                      ElementType result) {
  if (std::none_of(inputs.begin(), inputs.end(), is_byte) && !is_byte(result)) return expression;
  return Narrower(expression, inputs).run(result);
}

}  // namespace onnxkit::cpu
