#pragma once

#include "converters/opset/engine/step.h"

// Operators on the bits of integers, and the remainder, in older operators.
namespace onnxkit::opset {

/// BitwiseAnd, BitwiseOr, BitwiseXor for opset 17.
void write_by_digits(Step& step);
/// BitShift of version 28 for opset 27: signed numbers, and shifts by the width or more.
void shift_within_width(Step& step);
/// BitShift for opset 10.
void shift_by_powers(Step& step);
/// Mod for opset 9.
void write_remainder(Step& step);
/// Mod of reals with the sign of the divisor, for opset 27.
void remainder_by_fmod(Step& step);

}  // namespace onnxkit::opset
