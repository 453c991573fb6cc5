#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "onnxkit/value.h"

namespace onnxkit::plan {

/// A matrix [k, n] of numbers of a few bits, the first of a byte in its lowest bits. Blocks of `size` numbers of a column share a scale and a zero
/// point: a weight is (number - zero) * scale.
struct BlockedWeights {
  /// In elements, from one column to the next, and from one row or block to the next.
  struct Strides {
    std::int64_t column = 0, row = 0;
  };

  std::int64_t n = 0, k = 0;
  std::int64_t bits = 4;   ///< 2, 4 or 8
  std::int64_t size = 32;  ///< a multiple of 8; the last block of a column may have fewer
  bool is_signed =
      false;       ///< numbers and integer zero points are two's complement; read as so much more that the least is 0
  float zero = 0;  ///< where there are no zero points; as numbers are read
  Tensor scales = {};                               ///< real
  Tensor zeros = {};                                ///< real, or packed as the numbers are; of no type: `zero`
  ElementType rounded_to = ElementType::undefined;  ///< of 16 bits: what weights are rounded to
  Strides number_strides = {}, scale_strides = {}, zero_strides = {};

  /// Of a column.
  std::int64_t blocks() const { return k / size + (k % size != 0 ? 1 : 0); }
  std::int64_t block_bytes() const { return size * bits / 8; }
  /// All but the content of scales and zero points: weights of equal texts and tensors at the same places are the same.
  std::string text() const;
};

/// A column of them, before it is scaled. Zero points and scales are by block.
struct BlockedColumn {
  std::vector<std::uint8_t> numbers;
  std::vector<float> scales, zeros;
};
/// Precondition: all elements that the strides lead to are there.
void read_column(const BlockedWeights& weights, std::span<const std::byte> packed, std::int64_t column,
                 BlockedColumn& to);
/// All weights as float32, column after column.
void unpack(const BlockedWeights& weights, std::span<const std::byte> packed, std::span<float> to);

}  // namespace onnxkit::plan
