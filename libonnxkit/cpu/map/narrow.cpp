#include "libonnxkit/cpu/map/narrow.h"

#include <algorithm>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/number_range.h"

namespace onnxkit::cpu {
namespace {

using plan::Expression;
using plan::Instruction;
using plan::Lane;
using plan::NumberRange;
using plan::Operation;

constexpr double most_exact = 1 << 24;

bool is_exact(const NumberRange& range) {
  return range.whole && range.is_finite() && range.least >= -most_exact && range.most <= most_exact;
}

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
  static bool fits(const NumberRange& range, ElementType type) {
    return is_exact(range) && range.least >= static_cast<double>(least_of(type)) &&
           range.most <= static_cast<double>(greatest_of(type));
  }

  Expression::Number note(Expression::Number number, const NumberRange& range) {
    if (ranges_.size() <= number) ranges_.resize(number + 1);
    ranges_[number] = range;
    return number;
  }
  Expression::Number note_unknown(Expression::Number number) {
    return note(number, NumberRange::unknown(to_.lane(number)));
  }

  Expression::Number in_lane(Expression::Number number, Lane lane) {
    if (to_.lane(number) == lane) return number;
    return note(to_.convert(number, lane), plan::in_lane(ranges_[number], lane));
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
        return note_unknown(to_.round_to(of, instruction.type));
      }
      default:
        return operation(instruction);
    }
  }

  Expression::Number operand(const Instruction& instruction, int i) const { return numbers_[instruction.operands[i]]; }

  Expression::Number input(const Instruction& instruction) {
    const ElementType type = inputs_[instruction.index];
    if (!is_byte(type)) return note_unknown(to_.input(instruction.index, instruction.lane));
    return note(to_.input(instruction.index, Lane::f32), NumberRange::of(type));
  }

  Expression::Number constant(const Instruction& instruction) {
    const NumberRange range = NumberRange::of(instruction);
    if (instruction.lane == Lane::i64) {
      if (!is_exact(range)) return note(to_.integer(instruction.integer), range);
      return note(to_.constant(Lane::f32, static_cast<double>(instruction.integer)), range);
    }
    return note(to_.constant(instruction.lane, instruction.real), range);
  }

  /// Between lanes a whole number that float32 holds stays where it is; to float64 it goes.
  Expression::Number conversion(const Instruction& instruction) {
    const Expression::Number of = operand(instruction, 0);
    const Lane before = from_.lane(instruction.operands[0]);
    if (before == instruction.lane) return of;
    if (to_.lane(of) != Lane::f32 || !is_exact(ranges_[of]))
      return note_unknown(to_.convert(in_lane(of, before), instruction.lane));
    NumberRange range = ranges_[of];
    const Expression::Number whole = range.minus_zero ? to_.apply(Operation::add, of, to_.constant(Lane::f32, 0)) : of;
    range.minus_zero = false;
    note(whole, range);
    return instruction.lane == Lane::f64 ? note_unknown(to_.convert(whole, Lane::f64)) : whole;
  }

  Expression::Number operation(const Instruction& instruction) {
    const int arity = plan::arity_of(instruction.operation);
    if (instruction.lane == Lane::i64 && keeps_narrow(instruction)) {
      const NumberRange range = range_of(instruction, Lane::f32);
      return note(to_.apply(instruction.operation, operand(instruction, 0), operand(instruction, 1)), range);
    }
    const NumberRange range =
        instruction.lane == Lane::f32 ? range_of(instruction, Lane::f32) : NumberRange::unknown(instruction.lane);
    Expression::Number operands[3] = {};
    for (int i = 0; i < arity; ++i) operands[i] = in_lane(operand(instruction, i), from_.lane(instruction.operands[i]));
    const Expression::Number made = to_.apply(instruction.operation, operands[0], operands[1], operands[2]);
    return note(instruction.is_float32 ? to_.as_float32(made) : made, range);
  }

  /// Of integers in float32, with a result that it holds exactly.
  bool keeps_narrow(const Instruction& instruction) const {
    constexpr Operation kept[] = {Operation::add, Operation::subtract, Operation::multiply, Operation::minimum,
                                  Operation::maximum};
    if (std::ranges::find(kept, instruction.operation) == std::end(kept)) return false;
    for (int i = 0; i < 2; ++i) {
      const Expression::Number of = operand(instruction, i);
      if (from_.lane(instruction.operands[i]) != Lane::i64 || to_.lane(of) != Lane::f32 || !is_exact(ranges_[of]))
        return false;
    }
    return is_exact(range_of(instruction, Lane::f32));
  }

  /// In the lane of the new expression.
  NumberRange range_of(Instruction instruction, Lane lane) const {
    instruction.lane = lane;
    NumberRange operands[3] = {};
    for (int i = 0; i < plan::arity_of(instruction.operation); ++i) operands[i] = ranges_[operand(instruction, i)];
    return plan::range_of(instruction, operands, plan::is_test_of_third(from_, instruction));
  }

  const Expression& from_;
  std::span<const ElementType> inputs_;
  Expression to_;
  std::vector<Expression::Number> numbers_;  ///< by instruction of the old expression
  std::vector<NumberRange> ranges_;          ///< by instruction of the new one
};

}  // namespace

plan::Expression with_narrow_integers(const plan::Expression& expression, std::span<const ElementType> inputs,
                                      ElementType result) {
  if (std::none_of(inputs.begin(), inputs.end(), is_byte) && !is_byte(result)) return expression;
  return Narrower(expression, inputs).run(result);
}

}  // namespace onnxkit::cpu
