#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/element_type.h"

// What is computed for each element on its own: elementwise nodes that were joined, and what a product or a convolution does to its results before
// they are stored. The one form from which the CPU and generated kernels work.
namespace onnxkit::plan {

/// What a number is computed in.
enum class Lane : std::uint8_t { f32, f64, i64 };

/// The lane for an element type: f32 for float16, bfloat16 and float32, i64 for integers of up to 64 signed or 32 unsigned bits and for booleans
/// (0 and 1). float8e4m3fn, which only a backend puts into plans, has the lane f32, too; to lowerings it has none.
bool has_lane(ElementType type);
Lane lane_of(ElementType type);

enum class Operation : std::uint8_t {
  input,     ///< operand number `index`, converted from its stored type
  constant,  ///< `real` or `integer`
  // of one operand
  negate,
  absolute,
  exponential,
  logarithm,
  square_root,
  reciprocal,
  tanh,
  erf,
  sigmoid,
  sine,
  cosine,
  tangent,
  arc_sine,
  arc_cosine,
  arc_tangent,
  hyperbolic_sine,
  hyperbolic_cosine,
  arc_hyperbolic_sine,
  arc_hyperbolic_cosine,
  arc_hyperbolic_tangent,
  floor,
  ceiling,
  round_half_even,
  truncate,
  sign,
  is_nan,
  is_infinite,  ///< as is_nan an i64 of 0 or 1
  logical_not,
  bitwise_not,
  convert,   ///< from the lane of the operand to that of the result, as Cast does
  round_to,  ///< to what the element type `type` can hold
  // of two
  add,
  subtract,
  multiply,
  divide,  ///< of i64 towards 0, and 0 for a divisor of 0
  minimum,
  maximum,
  power,
  modulo,           ///< with the sign of the divisor; of i64 0 for a divisor of 0
  floating_modulo,  ///< with the sign of the dividend, as C's fmod; of i64 likewise
  equal,
  less,
  less_or_equal,  ///< the result is an i64 of 0 or 1
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,   ///< by less than 0 or more than 63: nothing is left
  shift_right,  ///< keeps the sign
  // of three
  select,  ///< the second operand where the first, an i64, is not 0, else the third
};
std::string_view name_of(Operation operation);
/// Number of operands that are instructions.
int arity_of(Operation operation);

struct Instruction {
  Operation operation = Operation::input;
  Lane lane = Lane::f32;           ///< of the result; comparisons compare in the lane of their operands
  std::uint32_t operands[3] = {};  ///< earlier instructions
  std::uint32_t index = 0;         ///< of an input
  double real = 0;
  std::int64_t integer = 0;
  ElementType type = ElementType::undefined;
  bool is_float32 =
      false;  ///< the operator is defined by float32 here: with f64 in place of f32 the result is rounded to it

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// A list of instructions, each of earlier ones; the last is the result.
class Expression {
 public:
  using Number = std::uint32_t;

  const std::vector<Instruction>& code() const { return code_; }
  bool empty() const { return code_.empty(); }
  std::size_t input_count() const { return inputs_; }
  Lane lane(Number of) const { return code_[of].lane; }
  Number last() const { return static_cast<Number>(code_.size() - 1); }

  Number input(std::size_t index, Lane lane);
  Number constant(Lane lane, double value);
  Number integer(std::int64_t value);
  /// In the lane of the first operand, of the second for select; comparisons give i64.
  Number apply(Operation operation, Number a, Number b = 0, Number c = 0);
  Number convert(Number of, Lane lane);
  Number round_to(Number of, ElementType type);
  /// Marks an f32 whose rounding the operator states, as that of quotients in front of a quantizer.
  Number as_float32(Number of);

  /// This expression with `inner` in place of input `index`. Inputs of the result: those of this expression but `index`, in order, then those of
  /// `inner`.
  Expression with_input(std::size_t index, const Expression& inner) const;
  /// The inputs get other numbers: input i becomes numbers[i].
  Expression renumbered(std::span<const std::size_t> numbers) const;

  /// What is done to the result of instruction `at`, which becomes input 0; the other inputs keep their numbers. What leads to `at` alone falls away.
  Expression behind(Number at) const;

  /// With f64 in place of f32, and numbers that are marked as float32 rounded. Without `rounds` float16, bfloat16 and float32 round nothing.
  Expression in_double(bool rounds) const;

  /// "max(add(x0, x1), 0)".
  std::string text() const;

 private:
  std::vector<Instruction> code_;
  std::size_t inputs_ = 0;
};

}  // namespace onnxkit::plan
