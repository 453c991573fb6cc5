#pragma once

#include <cstdint>
#include <string>

#include "libonnxkit/exec/ensemble.h"
#include "onnxkit/diff.h"

// Whether a deviation is rounding (docs/noise-floor.md).
namespace onnxkit::exec {

struct Judgement {
  Verdict verdict = Verdict::not_compared;
  FloorMeasure floor;       ///< of floating tensors
  std::uint64_t flips = 0;  ///< elements that differ from the exact answer and that rounding can flip
  std::string why;
};

/// Judges a tensor, as some backend gave it, by the exact answer and its replicas. Floating types: `rounding` when the deviation from the
/// exact answer is within the floor, else `not_rounding`. Integers, booleans: `identical` or, when all elements that differ can be flipped by
/// rounding, `undecidable`. `mismatch` for another shape, and for NaN or infinity where the exact answer has none. `origin` is what `got` is held
/// against where that is not the exact answer: another backend's, whose own rounding widens the floor by the square root of two.
Judgement judge(const Spread& spread, const Tensor& got, Profile profile, const Tensor* origin = nullptr);

/// The limits of FloorMeasure::healthy.
inline constexpr double healthy_rms = 2, healthy_largest = 12;

/// Whether two values are the same bit for bit; all NaN are the same.
bool identical(const Value& a, const Value& b);

}  // namespace onnxkit::exec
