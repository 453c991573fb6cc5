#pragma once

#include <optional>

#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"
#include "libonnxkit/plan/blocked_weights.h"

namespace onnxkit::cpu {

/// The constant factor b of a product as its kernel reads it: packed ahead, or where it lies.
struct RightFactor {
  PackedWeights::Floats packed;         ///< null: `stored`
  std::optional<NumberBlocks> numbers;  ///< of which it is packed
  StoredMatrix stored;

  bool is_ready() const { return packed || stored.from; }
  /// Precondition: is_ready().
  void give(Product& product) const;
};

/// Of a constant b [k, n] of float16, bfloat16 or float32.
RightFactor right_factor(const View& b, Preparation& preparation);
/// Of n columns from `first` on of numbers in blocks, whose bytes are the constant b.
RightFactor right_factor(const View& b, const plan::BlockedWeights& blocks, std::int64_t first, std::int64_t n,
                         Preparation& preparation);

}  // namespace onnxkit::cpu
