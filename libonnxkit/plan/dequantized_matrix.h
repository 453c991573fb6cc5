#pragma once

#include <memory>
#include <optional>

#include "libonnxkit/plan/blocked_weights.h"
#include "libonnxkit/plan/subject.h"

namespace onnxkit::plan {

/// Between weights and what reads them, one behind the other: as far as passes and lowerings look.
inline constexpr int most_transposes = 4;

/// A constant matrix that a model stores as numbers of a few bits.
struct DequantizedMatrix {
  Tensor numbers;
  std::shared_ptr<const BlockedWeights> blocks;
};

/// The value of two axes as the factor b [k, n] of a product; `transposed`: b is its transpose. Nothing unless a DequantizeLinear makes it of constants
/// of at most 8 bits, perhaps with a Transpose behind, and its scales are one for all, one for each column, or one for each block of a column.
std::optional<DequantizedMatrix> dequantized_matrix(const Subject& subject, ir::ValueId value, bool transposed = false);

/// Whether that is how all readers of the value use it.
bool is_read_in_blocks(const Subject& subject, ir::ValueId value);

}  // namespace onnxkit::plan
