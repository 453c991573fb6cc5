#pragma once

#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "libonnxkit/wire/picture/module.h"
#include "libonnxkit/wire/picture/picture.h"

// One reader for each form of picture file. Each returns what is wrong with the file, or an empty text when the picture is complete.
namespace onnxkit::wire {

using PictureBytes = std::span<const std::uint8_t>;

/// The picture to be filled.
class Canvas {
 public:
  explicit Canvas(const PictureHost& host) : host_(host) {}

  /// Room for the pixels; false when the size is none or too large.
  bool open(std::int64_t height, std::int64_t width) {
    width_ = width;
    pixels_ = host_.open(host_.owner, height, width);
    return pixels_ != nullptr;
  }
  std::uint8_t* row(std::int64_t y) { return pixels_ + y * width_ * 3; }
  void set(std::int64_t y, std::int64_t x, unsigned red, unsigned green, unsigned blue) {
    std::uint8_t* pixel = row(y) + x * 3;
    pixel[0] = static_cast<std::uint8_t>(red);
    pixel[1] = static_cast<std::uint8_t>(green);
    pixel[2] = static_cast<std::uint8_t>(blue);
  }

 private:
  const PictureHost& host_;
  std::uint8_t* pixels_ = nullptr;
  std::int64_t width_ = 0;
};

inline constexpr const char* too_large = "the image has no pixels, or more than allowed";
inline constexpr const char* cut_off = "the file is truncated";

/// One of the readers below as a function of the modules' interface.
template <std::string (*read)(PictureBytes, Canvas&)>
void decode(const std::uint8_t* file, std::size_t size, const PictureHost* host) {
  try {
    Canvas canvas(*host);
    if (const std::string fault = read({file, size}, canvas); !fault.empty()) host->fail(host->owner, fault.c_str());
  } catch (const std::bad_alloc&) {
    host->fail(host->owner, "there is not enough memory for the picture");
  }
}

std::string read_bmp(PictureBytes file, Canvas& canvas);
std::string read_pnm(PictureBytes file, Canvas& canvas);

// In the module.
std::string read_jpeg(PictureBytes file, Canvas& canvas);
std::string read_jpeg2000(PictureBytes file, Canvas& canvas);
std::string read_png(PictureBytes file, Canvas& canvas);
std::string read_tiff(PictureBytes file, Canvas& canvas);
std::string read_webp(PictureBytes file, Canvas& canvas);

}  // namespace onnxkit::wire
