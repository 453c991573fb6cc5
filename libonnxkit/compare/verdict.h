#pragma once

#include <cstdint>
#include <string>

#include "libonnxkit/exec/perturbed.h"
#include "onnxkit/diff.h"

// Whether a deviation is rounding (docs/noise-floor.md).
namespace onnxkit::comparison {

struct TensorVerdict {
  Verdict verdict = Verdict::not_compared;
  FloorMeasure floor;       ///< of floating tensors
  std::uint64_t flips = 0;  ///< elements that differ from the exact answer and that rounding can flip
  std::string why;
  /// Not rounding by so little that more samples may tell otherwise.
  bool in_doubt = false;
  /// It is a matter of elements or rows that rounding can flip, which samples with larger errors tell better.
  bool by_flips = false;
};

/// The verdict on a tensor, as some backend gave it, from the exact answer and its samples. Floating types: `rounding` when the deviation from the
/// exact answer is within the floor, else `not_rounding`. Integers, booleans: `identical` or, when no more elements differ than rounding
/// can flip, `undecidable`. `mismatch` for another shape, and for NaN or infinity where the exact answer has none. Where samples have
/// other numbers of rows, rows.h. `origin` is what `got` is
/// compared with where that is not the exact answer: another backend's, whose own rounding widens the floor by the square root of two. `sets` sets of inputs get
/// verdicts one by one.
TensorVerdict verdict_of(const exec::Spread& spread, const Tensor& got, Profile profile, const Tensor* origin = nullptr,
                         std::size_t sets = 1);

/// The limits of FloorMeasure::healthy; that of rms holds for many elements.
inline constexpr double healthy_rms = 2, healthy_largest = 12;
/// Of the rms over some elements, where it is the largest of those of so many sets of inputs.
double rms_limit(std::uint64_t elements, std::size_t sets = 1);

/// Whether two values are the same bit for bit; all NaN are the same.
bool identical(const Value& a, const Value& b);

}  // namespace onnxkit::comparison
