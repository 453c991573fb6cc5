#include "libonnxkit/plan/blocked_weights.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {
namespace {

/// Numbers of `bits` bits each, `stride` apart.
template <std::size_t bits>
void unpack_numbers(const std::byte* from, std::size_t first, std::size_t stride, std::span<std::uint8_t> to) {
  constexpr std::size_t of_byte = 8 / bits;
  std::size_t at = first;
  for (std::uint8_t& number : to) {
    const auto byte = static_cast<std::uint32_t>(from[at / of_byte]);
    number = static_cast<std::uint8_t>(byte >> (at % of_byte * bits) & ((1U << bits) - 1));
    at += stride;
  }
}

/// Numbers of two's complement by so much more that the least is 0.
void read_numbers(const BlockedWeights& weights, const std::byte* from, std::int64_t first, std::int64_t stride,
                  std::span<std::uint8_t> to) {
  const auto unpack = weights.bits == 2 ? unpack_numbers<2> : weights.bits == 4 ? unpack_numbers<4> : unpack_numbers<8>;
  unpack(from, static_cast<std::size_t>(first), static_cast<std::size_t>(stride), to);
  if (!weights.is_signed) return;
  const auto sign = static_cast<std::uint8_t>(1U << static_cast<std::uint32_t>(weights.bits - 1));
  for (std::uint8_t& number : to) number ^= sign;
}

void read_reals(const Tensor& tensor, std::int64_t first, std::int64_t stride, std::span<float> to) {
  const std::size_t width = static_cast<std::size_t>(storage_bits(tensor.type())) / 8;
  const std::byte* from = tensor.bytes().data() + static_cast<std::size_t>(first) * width;
  for (float& real : to) {
    if (tensor.type() == ElementType::float32) {
      std::memcpy(&real, from, sizeof real);
    } else {
      double wide = 0;
      decode(tensor.type(), {from, width}, std::span<double>(&wide, 1));
      real = static_cast<float>(wide);
    }
    from += static_cast<std::size_t>(stride) * width;
  }
}

void read_zeros(const BlockedWeights& weights, std::int64_t column, std::span<float> to) {
  const std::int64_t first = column * weights.zero_strides.column, stride = weights.zero_strides.row;
  if (weights.zeros.type() == ElementType::undefined) return std::fill(to.begin(), to.end(), weights.zero);
  if (is_floating(weights.zeros.type())) return read_reals(weights.zeros, first, stride, to);
  std::vector<std::uint8_t> numbers(to.size());
  read_numbers(weights, weights.zeros.bytes().data(), first, stride, numbers);
  std::copy(numbers.begin(), numbers.end(), to.begin());
}

}  // namespace

std::string BlockedWeights::text() const {
  const auto apart = [](const Strides& strides) { return fmt::format("{}, {} apart", strides.column, strides.row); };
  return fmt::format("{} x {} numbers of {} bits{}, {}, in blocks of {}, scales {}, {}, zero points {}, {} or {}", k, n,
                     bits, is_signed ? " with sign" : "", apart(number_strides), size, name_of(scales.type()),
                     apart(scale_strides), name_of(zeros.type()), apart(zero_strides), zero);
}

void read_column(const BlockedWeights& weights, std::span<const std::byte> packed, std::int64_t column,
                 BlockedColumn& to) {
  const auto blocks = static_cast<std::size_t>(weights.blocks());
  to.numbers.resize(static_cast<std::size_t>(weights.k));
  to.scales.resize(blocks);
  to.zeros.resize(blocks);
  read_numbers(weights, packed.data(), column * weights.number_strides.column, weights.number_strides.row, to.numbers);
  read_reals(weights.scales, column * weights.scale_strides.column, weights.scale_strides.row, to.scales);
  read_zeros(weights, column, to.zeros);
}

void unpack(const BlockedWeights& weights, std::span<const std::byte> packed, std::span<float> to) {
  const auto k = static_cast<std::size_t>(weights.k), size = static_cast<std::size_t>(weights.size);
  BlockedColumn column;
  for (std::int64_t at = 0; at < weights.n; ++at) {
    read_column(weights, packed, at, column);
    float* const out = to.data() + static_cast<std::size_t>(at) * k;
    for (std::size_t block = 0; block < column.scales.size(); ++block) {
      for (std::size_t i = block * size; i < std::min((block + 1) * size, k); ++i)
        out[i] = (static_cast<float>(column.numbers[i]) - column.zeros[block]) * column.scales[block];
    }
    if (weights.rounded_to == ElementType::undefined) continue;
    for (std::size_t i = 0; i < k; ++i) out[i] = static_cast<float>(round_to(weights.rounded_to, double{out[i]}));
  }
}

}  // namespace onnxkit::plan
