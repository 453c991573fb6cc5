#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "onnxkit/value.h"

namespace onnxkit::plan {

/// A matrix [n, k] of numbers of a few bits as com.microsoft's MatMulNBits stores it: each row in blocks, the first number in the lowest bits of a
/// byte. A weight is (number - zero) * scale with the scale and the zero point of its block.
struct BlockedWeights {
  std::int64_t n = 0, k = 0;
  std::int64_t bits = 4;   ///< 2, 4 or 8
  std::int64_t size = 32;  ///< numbers of a block, a multiple of 8; the last block of a row has places for as many
  Tensor scales;           ///< real, [n, blocks()]
  Tensor
      zeros;  ///< as the scales; or packed as the numbers are, each row from a byte on; of no type: the middle of the range

  /// Of a row.
  std::int64_t blocks() const { return k / size + (k % size != 0 ? 1 : 0); }
  std::int64_t block_bytes() const { return size * bits / 8; }
};

/// A row of them, before it is scaled. Zero points and scales are by block.
struct BlockedRow {
  std::vector<std::uint8_t> numbers;
  std::vector<float> scales, zeros;
};
/// Precondition: the sizes of all tensors fit.
void read_row(const BlockedWeights& weights, std::span<const std::byte> packed, std::int64_t row, BlockedRow& to);
/// All weights as float32, [n, k].
void unpack(const BlockedWeights& weights, std::span<const std::byte> packed, std::span<float> to);

}  // namespace onnxkit::plan
