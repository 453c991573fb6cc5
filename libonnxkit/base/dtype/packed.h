#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

// Elements of any width, packed without gaps; those narrower than a byte have the first in the lowest bits.
namespace onnxkit {

/// Elements that end on a byte together, and the bytes they take.
template <int Bits>
inline constexpr std::size_t group_elements = Bits == 6 ? 4 : 8 / Bits;
template <int Bits>
inline constexpr std::size_t group_bytes = Bits == 6 ? 3 : 1;

/// Calls take(index, code) for each of `count` elements.
template <int Bits, class F>
void unpack_codes(std::span<const std::byte> bytes, std::size_t count, F&& take) {
  for (std::size_t i = 0, at = 0; i < count; i += group_elements<Bits>, at += group_bytes<Bits>) {
    std::uint32_t group = 0;
    for (std::size_t b = 0; b < group_bytes<Bits> && at + b < bytes.size(); ++b) {
      group |= std::to_integer<std::uint32_t>(bytes[at + b]) << (8 * b);
    }
    for (std::size_t e = 0; e < group_elements<Bits> && i + e < count; ++e) {
      take(i + e, (group >> (e * Bits)) & ((1u << Bits) - 1));
    }
  }
}

/// Packs the low bits of make(index); bits left over in the last byte become 0.
template <int Bits, class F>
void pack_codes(std::size_t count, std::span<std::byte> bytes, F&& make) {
  for (std::size_t i = 0, at = 0; i < count; i += group_elements<Bits>, at += group_bytes<Bits>) {
    std::uint32_t group = 0;
    for (std::size_t e = 0; e < group_elements<Bits> && i + e < count; ++e) {
      group |= (static_cast<std::uint32_t>(make(i + e)) & ((1u << Bits) - 1)) << (e * Bits);
    }
    for (std::size_t b = 0; b < group_bytes<Bits> && at + b < bytes.size(); ++b) {
      bytes[at + b] = static_cast<std::byte>(group >> (8 * b));
    }
  }
}

/// Copies `count` elements of `bits` bits each. Elements narrower than a byte are added to bits that must be 0.
inline void copy_elements(int bits, std::span<const std::byte> from, std::size_t first, std::span<std::byte> to,
                          std::size_t at, std::size_t count) {
  const auto width = static_cast<std::size_t>(bits);
  if (bits >= 8) {
    if (count > 0) std::memcpy(to.data() + at * (width / 8), from.data() + first * (width / 8), count * (width / 8));
    return;
  }
  for (std::size_t bit = 0; bit < count * width; ++bit) {
    const std::size_t source = first * width + bit, target = at * width + bit;
    to[target / 8] |= (from[source / 8] >> (source % 8) & std::byte{1}) << (target % 8);
  }
}

}  // namespace onnxkit
