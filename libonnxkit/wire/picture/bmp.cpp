// Windows bitmaps: uncompressed, of 1, 4, 8, 16, 24 or 32 bits.
#include <bit>

#include "libonnxkit/wire/picture/codecs.h"

namespace onnxkit::wire {
namespace {

std::uint32_t number(PictureBytes file, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes && at + i < file.size(); ++i) value |= std::uint32_t{file[at + i]} << (8 * i);
  return value;
}

/// A colour's bits of a pixel, stretched to 8.
struct Mask {
  std::uint32_t bits;

  unsigned of(std::uint32_t pixel) const {
    if (bits == 0) return 0;
    const std::uint32_t most = bits >> std::countr_zero(bits);
    const std::uint32_t value = (pixel & bits) >> std::countr_zero(bits);
    return static_cast<unsigned>(std::uint64_t{value} * 255 / most);
  }
};

struct Bitmap {
  std::size_t pixels, palette, colours;
  std::int64_t height, width;
  std::uint32_t bits;
  bool from_top;
  Mask red{0}, green{0}, blue{0};
};

std::string read_header(PictureBytes file, Bitmap& bitmap) {
  if (file.size() < 54) return cut_off;
  const std::uint32_t header = number(file, 14, 4), compression = number(file, 30, 4);
  if (header < 40 || header > 124) return "old bitmap versions are not supported";
  const auto height = static_cast<std::int32_t>(number(file, 22, 4));
  bitmap.pixels = number(file, 10, 4);
  bitmap.palette = 14 + std::size_t{header};
  bitmap.width = static_cast<std::int32_t>(number(file, 18, 4));
  bitmap.height = height < 0 ? -std::int64_t{height} : height;
  bitmap.from_top = height < 0;
  bitmap.bits = number(file, 28, 2);
  bitmap.colours = number(file, 46, 4) != 0 ? number(file, 46, 4) : std::size_t{1} << std::min(bitmap.bits, 8u);
  const bool masked = compression == 3 && (bitmap.bits == 16 || bitmap.bits == 32);
  if (compression != 0 && !masked) return "compressed bitmaps are not supported";
  if (masked)
    bitmap.red.bits = number(file, 54, 4), bitmap.green.bits = number(file, 58, 4),
    bitmap.blue.bits = number(file, 62, 4);
  else if (bitmap.bits == 16)
    bitmap.red.bits = 0x7c00, bitmap.green.bits = 0x3e0, bitmap.blue.bits = 0x1f;
  else
    bitmap.red.bits = 0xff0000, bitmap.green.bits = 0xff00, bitmap.blue.bits = 0xff;
  switch (bitmap.bits) {
    case 1:
    case 4:
    case 8:
    case 16:
    case 24:
    case 32:
      return {};
    default:
      return "a bitmap has 1, 4, 8, 16, 24 or 32 bits";
  }
}

}  // namespace

std::string read_bmp(PictureBytes file, Canvas& canvas) {
  Bitmap bitmap{};
  if (std::string fault = read_header(file, bitmap); !fault.empty()) return fault;
  if (!canvas.open(bitmap.height, bitmap.width)) return too_large;
  const auto stride = static_cast<std::uint64_t>((bitmap.width * bitmap.bits + 31) / 32 * 4);
  if (bitmap.pixels > file.size() || stride * static_cast<std::uint64_t>(bitmap.height) > file.size() - bitmap.pixels)
    return cut_off;
  for (std::int64_t y = 0; y < bitmap.height; ++y) {
    const std::int64_t stored = bitmap.from_top ? y : bitmap.height - 1 - y;
    const std::size_t row = bitmap.pixels + static_cast<std::size_t>(stored) * stride;
    for (std::int64_t x = 0; x < bitmap.width; ++x) {
      const auto bit = static_cast<std::size_t>(x) * bitmap.bits;
      std::uint32_t pixel = number(file, row + bit / 8, (bitmap.bits + 7) / 8);
      if (bitmap.bits <= 8) {
        pixel = pixel >> (8 - bitmap.bits - bit % 8) & ((1u << bitmap.bits) - 1);
        if (pixel >= bitmap.colours) return "a pixel has a colour beyond the palette";
        pixel = number(file, bitmap.palette + pixel * std::size_t{4}, 4);
      }
      canvas.set(y, x, bitmap.red.of(pixel), bitmap.green.of(pixel), bitmap.blue.of(pixel));
    }
  }
  return {};
}

}  // namespace onnxkit::wire
