#pragma once

#include <cstring>
#include <optional>
#include <string>

#include "libonnxkit/wire/picture/picture.h"

// One reader for each form of picture file. Each returns what is wrong with the file, or an empty text when the picture is complete.
namespace onnxkit::wire {

using PictureBytes = std::span<const std::uint8_t>;

/// The picture to be filled, and how large it may become.
class Canvas {
 public:
  Canvas(Picture& picture, std::int64_t max_pixels) : picture_(picture), max_pixels_(max_pixels) {}

  /// Room for the pixels; false when the size is none or too large.
  bool open(std::int64_t height, std::int64_t width) {
    if (height <= 0 || width <= 0 || height > max_pixels_ / width) return false;
    picture_.height = height;
    picture_.width = width;
    picture_.rgb.resize(static_cast<std::size_t>(height * width * 3));
    return true;
  }
  std::uint8_t* row(std::int64_t y) { return picture_.rgb.data() + y * picture_.width * 3; }
  void set(std::int64_t y, std::int64_t x, unsigned red, unsigned green, unsigned blue) {
    std::uint8_t* pixel = row(y) + x * 3;
    pixel[0] = static_cast<std::uint8_t>(red);
    pixel[1] = static_cast<std::uint8_t>(green);
    pixel[2] = static_cast<std::uint8_t>(blue);
  }

 private:
  Picture& picture_;
  std::int64_t max_pixels_;
};

inline constexpr const char* too_large = "the picture has no pixels or more than are allowed";
inline constexpr const char* cut_off = "the file ends too early";

std::string read_bmp(PictureBytes file, Canvas& canvas);
std::string read_jpeg(PictureBytes file, Canvas& canvas);
std::string read_jpeg2000(PictureBytes file, Canvas& canvas);
std::string read_png(PictureBytes file, Canvas& canvas);
std::string read_pnm(PictureBytes file, Canvas& canvas);
std::string read_tiff(PictureBytes file, Canvas& canvas);
std::string read_webp(PictureBytes file, Canvas& canvas);

}  // namespace onnxkit::wire
