#pragma once

#include "libonnxkit/plan/images.h"

// Products and convolutions of bytes as steps over integers.
namespace onnxkit::plan {

/// Of 8 or 16 bits.
bool is_quantized_integer(ElementType type);
/// The quotient rounded, halves to even, with the zero point added and kept in the range of the type; NaN counts as 0.
Expression::Number saturated(Expression& e, Expression::Number quotient, std::optional<Expression::Number> zero,
                             ElementType type);

/// Of numbers that are rounded to uint8 by the range that they have, 0 in it, as DynamicQuantizeLinear does: scalars, of float32 and uint8.
struct DynamicRange {
  View scale, zero;
};
DynamicRange dynamic_range(LowerCall& call, const View& x);
/// Rounded so, and numbers of float32 again.
View through_bytes(LowerCall& call, const View& x);

using Requantization = IntegerConvolutionParameters::Requantization;

/// The inputs of a node that a step over integers reads.
struct IntegerInputs {
  std::size_t x = 0, weights = 1, x_zero = 2, weight_zero = 3;
  std::optional<std::size_t> bias = {};
  bool turns_x = false, turns_weights = false;  ///< of products: a matrix is transposed first
  std::optional<Dims> result = {};              ///< of products: its sizes, if not those of output 0
};

/// From round(sum * alpha * x_scale * weight_scale / y_scale) + y_zero. Nothing where these are not constants of ordinary size or the type is not of bytes.
std::optional<Requantization> requantization_of(LowerCall& call, std::size_t x_scale, std::size_t weight_scale,
                                                std::size_t y_scale, std::size_t y_zero, ElementType type,
                                                double alpha = 1);
/// What the step writes, as int32 or requantized to `type`, of the sizes of output 0. Nothing where the backend, or the kind of step, does not take it.
std::optional<View> convolved_integers(LowerCall& call, const IntegerInputs& inputs,
                                       std::optional<Requantization> requantization, ElementType type);
/// The same of a matrix product with constant weights.
std::optional<View> multiplied_integers(LowerCall& call, const IntegerInputs& inputs,
                                        std::optional<Requantization> requantization, ElementType type);

}  // namespace onnxkit::plan
