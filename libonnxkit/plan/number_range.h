#pragma once

#include <span>
#include <vector>

#include "libonnxkit/plan/expression.h"

namespace onnxkit::plan {

/// What a number of an expression may be: finite ones from `least` to `most`, none where these are in the other order, and what else is said.
struct NumberRange {
  double least = 0, most = 0;
  bool whole = false;       ///< what is finite is an integer
  bool minus_zero = false;  ///< which integers do not know
  bool nan = false, plus_infinity = false, minus_infinity = false;

  /// Everything that the lane holds.
  static NumberRange unknown(Lane lane);
  /// Of elements of this type in the lane that they have.
  static NumberRange of(ElementType stored);
  static NumberRange of(const Instruction& constant);

  bool is_empty() const { return least > most; }
  bool is_finite() const { return !nan && !plus_infinity && !minus_infinity; }
  bool holds(double number) const;
};

/// The range as numbers of the lane are, rounded to it.
NumberRange in_lane(const NumberRange& range, Lane lane);

/// What an instruction gives whose operands are in these ranges, in their order; for what is not known of here everything. `is_test_of_third`: it
/// selects its third operand where that is no NaN. Not for inputs.
NumberRange range_of(const Instruction& instruction, std::span<const NumberRange> operands,
                     bool is_test_of_third = false);

/// By instruction; `inputs` are the stored types of its inputs.
std::vector<NumberRange> ranges_of(const Expression& expression, std::span<const ElementType> inputs);

/// Whether a select chooses its third operand only where that is no NaN.
bool is_test_of_third(const Expression& expression, const Instruction& instruction);

}  // namespace onnxkit::plan
