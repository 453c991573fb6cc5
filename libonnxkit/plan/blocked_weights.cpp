#include "libonnxkit/plan/blocked_weights.h"

#include <algorithm>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {
namespace {

/// Numbers of `bits` bits each.
template <std::size_t bits>
void unpack_numbers(const std::byte* from, std::span<std::uint8_t> to) {
  constexpr std::size_t of_byte = 8 / bits;
  const auto number = [from](std::size_t byte, std::size_t i) {
    return static_cast<std::uint8_t>(static_cast<std::uint32_t>(from[byte]) >> (i * bits) & ((1U << bits) - 1));
  };
  const std::size_t whole = to.size() / of_byte;
  for (std::size_t byte = 0; byte < whole; ++byte) {
    for (std::size_t i = 0; i < of_byte; ++i) to[byte * of_byte + i] = number(byte, i);
  }
  for (std::size_t i = 0; whole * of_byte + i < to.size(); ++i) to[whole * of_byte + i] = number(whole, i);
}

void unpack_numbers(std::int64_t bits, const std::byte* from, std::span<std::uint8_t> to) {
  (bits == 2 ? unpack_numbers<2> : bits == 4 ? unpack_numbers<4> : unpack_numbers<8>)(from, to);
}

void read_reals(const Tensor& tensor, std::size_t row, std::span<float> to) {
  std::vector<double> reals(to.size());
  const std::size_t bytes = to.size() * static_cast<std::size_t>(storage_bits(tensor.type())) / 8;
  decode(tensor.type(), tensor.bytes().subspan(row * bytes, bytes), std::span<double>(reals));
  std::transform(reals.begin(), reals.end(), to.begin(), [](double real) { return static_cast<float>(real); });
}

void read_zeros(const BlockedWeights& weights, std::size_t row, std::span<float> to) {
  if (weights.zeros.type() == ElementType::undefined)
    return std::fill(to.begin(), to.end(), static_cast<float>(1U << static_cast<std::uint32_t>(weights.bits - 1)));
  if (is_floating(weights.zeros.type())) return read_reals(weights.zeros, row, to);
  std::vector<std::uint8_t> numbers(to.size());
  const std::size_t row_bytes = (to.size() * static_cast<std::size_t>(weights.bits) + 7) / 8;
  unpack_numbers(weights.bits, weights.zeros.bytes().data() + row * row_bytes, numbers);
  std::copy(numbers.begin(), numbers.end(), to.begin());
}

}  // namespace

void read_row(const BlockedWeights& weights, std::span<const std::byte> packed, std::int64_t row, BlockedRow& to) {
  const auto blocks = static_cast<std::size_t>(weights.blocks()), at = static_cast<std::size_t>(row);
  to.numbers.resize(static_cast<std::size_t>(weights.k));
  to.scales.resize(blocks);
  to.zeros.resize(blocks);
  // Blocks are whole bytes, so all numbers of a row lie one after the other.
  unpack_numbers(weights.bits, packed.data() + at * blocks * static_cast<std::size_t>(weights.block_bytes()),
                 to.numbers);
  read_reals(weights.scales, at, to.scales);
  read_zeros(weights, at, to.zeros);
}

void unpack(const BlockedWeights& weights, std::span<const std::byte> packed, std::span<float> to) {
  const auto k = static_cast<std::size_t>(weights.k), size = static_cast<std::size_t>(weights.size);
  BlockedRow row;
  for (std::int64_t at = 0; at < weights.n; ++at) {
    read_row(weights, packed, at, row);
    float* const out = to.data() + static_cast<std::size_t>(at) * k;
    for (std::size_t block = 0; block < row.scales.size(); ++block) {
      for (std::size_t i = block * size; i < std::min((block + 1) * size, k); ++i)
        out[i] = (static_cast<float>(row.numbers[i]) - row.zeros[block]) * row.scales[block];
    }
  }
}

}  // namespace onnxkit::plan
