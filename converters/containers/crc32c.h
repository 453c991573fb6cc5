#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace onnxkit::containers {

/// CRC-32C (Castagnoli) of bytes; of bytes that follow others with their checksum as `before`.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// As sorted tables and records store a checksum, so that one of bytes that hold checksums stays good.
constexpr std::uint32_t masked_crc(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

}  // namespace onnxkit::containers
