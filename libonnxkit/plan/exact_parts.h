#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/plan/integers.h"

// Products and convolutions of bytes as float32 ones, cut where a sum might reach 2^24, up to which float32 counts exactly; the parts are added as integers.
// So results are those of integer arithmetic, from the kernels for float32.
namespace onnxkit::plan {

inline constexpr double exact_up_to = 16777216;  ///< 2^24
inline constexpr double greatest_byte = 255;     ///< of a byte without its zero point
/// Parts that one map can add.
inline constexpr std::size_t most_parts = 24;

/// A zero point that broadcasts against a matrix: one element, or one for each row or column.
std::optional<View> zero_of_matrix(LowerCall& call, std::size_t input, const View& matrix, bool is_left);
/// x minus its zero point, as float32.
std::optional<View> centered(LowerCall& call, std::size_t input, std::size_t zero_input, bool is_left);
/// The same of a constant with a constant zero point, [rows, columns] with one zero point for each of either or for all; nothing for others.
std::optional<std::vector<float>> constant_centered(LowerCall& call, std::size_t input, std::size_t zero_input,
                                                    std::int64_t rows, std::int64_t columns, bool zero_by_row);

/// Integers to be added, all of float32 or one of int32, or why there are none.
struct Parts {
  std::vector<View> views;
  std::string refused;
};
/// Products of inputs without their zero points, whose sum is the product.
Parts product_parts(LowerCall& call, const IntegerInputs& inputs);
/// The same, as one step over integers where there is one.
Parts summed_products(LowerCall& call, const IntegerInputs& inputs);
/// The sum of inputs 0, 1, ... of an expression, which are these parts, in the lane.
Expression::Number integer_sum(Expression& e, std::span<const View> parts, Lane lane);

}  // namespace onnxkit::plan
