#include "libonnxkit/plan/blocked_weights.h"

#include <algorithm>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {
namespace {

/// Number `i` of `bits` bits each.
std::uint32_t packed_number(const std::byte* from, std::size_t i, std::size_t bits) {
  const std::size_t at = i * bits;
  return static_cast<std::uint32_t>(from[at / 8]) >> (at % 8) & ((1U << bits) - 1);
}

/// Real numbers of a row; those of scales and of zero points that are no integers.
void read_row(const Tensor& tensor, std::size_t row, std::span<double> to) {
  const std::size_t bytes = to.size() * static_cast<std::size_t>(storage_bits(tensor.type())) / 8;
  decode(tensor.type(), tensor.bytes().subspan(row * bytes, bytes), to);
}

void read_zeros(const BlockedWeights& weights, std::size_t row, std::span<double> to) {
  const auto bits = static_cast<std::size_t>(weights.bits);
  if (weights.zeros.type() == ElementType::undefined)
    return std::fill(to.begin(), to.end(), static_cast<double>(1U << (bits - 1)));
  if (is_floating(weights.zeros.type())) return read_row(weights.zeros, row, to);
  const std::size_t row_bytes = (to.size() * bits + 7) / 8;
  const std::byte* const from = weights.zeros.bytes().data() + row * row_bytes;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = packed_number(from, i, bits);
}

/// Blocks are longer than tables of all that a number can become, but for numbers of 8 bits.
template <std::size_t bits>
void unpack_block(const std::byte* from, std::size_t count, double zero, double scale, float* to) {
  const auto weight = [&](std::uint32_t number) {
    return static_cast<float>((static_cast<double>(number) - zero) * scale);
  };
  if constexpr (bits == 8) {
    for (std::size_t i = 0; i < count; ++i) to[i] = weight(static_cast<std::uint32_t>(from[i]));
  } else {
    float all[1U << bits];
    for (std::uint32_t number = 0; number < 1U << bits; ++number) all[number] = weight(number);
    constexpr std::size_t of_byte = 8 / bits;
    std::size_t i = 0;
    for (; i + of_byte <= count; i += of_byte) {
      const auto byte = static_cast<std::uint32_t>(from[i / of_byte]);
      for (std::size_t j = 0; j < of_byte; ++j) to[i + j] = all[byte >> (j * bits) & ((1U << bits) - 1)];
    }
    for (; i < count; ++i) to[i] = all[packed_number(from, i, bits)];
  }
}

}  // namespace

void unpack_rows(const BlockedWeights& weights, std::span<const std::byte> packed, std::int64_t first,
                 std::int64_t rows, float* to) {
  const auto k = static_cast<std::size_t>(weights.k), size = static_cast<std::size_t>(weights.size);
  const auto block_bytes = static_cast<std::size_t>(weights.block_bytes());
  const auto unpack = weights.bits == 2 ? unpack_block<2> : weights.bits == 4 ? unpack_block<4> : unpack_block<8>;
  std::vector<double> scales(static_cast<std::size_t>(weights.blocks())), zeros(scales);
  for (auto row = static_cast<std::size_t>(first); row < static_cast<std::size_t>(first + rows); ++row) {
    read_row(weights.scales, row, scales);
    read_zeros(weights, row, zeros);
    const std::byte* const from = packed.data() + row * scales.size() * block_bytes;
    for (std::size_t block = 0; block < scales.size(); ++block) {
      const std::size_t count = std::min(size, k - block * size);
      unpack(from + block * block_bytes, count, zeros[block], scales[block], to);
      to += count;
    }
  }
}

}  // namespace onnxkit::plan
