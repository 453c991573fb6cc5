#pragma once

#include <span>

#include "libonnxkit/plan/expression.h"

namespace onnxkit::cpu {

/// The expression with integers that float32 holds exactly in that lane: operands of 8 bits, sums and products of them, and what rounds and keeps
/// reals between bounds. Inputs of narrow integer types may have the lane f32 then, and so may a result of a narrow type. Results are the same.
plan::Expression with_narrow_integers(const plan::Expression& expression, std::span<const ElementType> inputs,
                                      ElementType result);

}  // namespace onnxkit::cpu
