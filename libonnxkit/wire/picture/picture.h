#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit::wire {

/// A picture as red, green and blue in 8 bits each, rows from the top.
struct Picture {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> rgb;
};

/// Decodes a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP file; what it is, its first bytes tell. Transparency is dropped, finer numbers are
/// cut to 8 bits. Fails with `picture` when the bytes are none of these, are malformed or ask for more than max_pixels, with `missing-module` when the decoders
/// cannot be loaded.
Result<Picture> decode_picture(std::span<const std::byte> file, std::int64_t max_pixels = std::int64_t{1} << 28);

/// Luma of ITU-R 601 in 16-bit fixed point, rounded.
constexpr std::uint8_t luma(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return static_cast<std::uint8_t>((red * 19595u + green * 38470u + blue * 7471u + 0x8000u) >> 16);
}

}  // namespace onnxkit::wire
