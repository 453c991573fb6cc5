#pragma once

#include <cstddef>
#include <cstdint>

// The interface of libonnxkit_pictures.so, which holds the decoders that need libraries of their own. Plain C across it:
// no exceptions, and memory belongs to the side that made it.
namespace onnxkit::wire {

/// The side that wants a picture.
struct PictureHost {
  void* owner;
  /// Room for height * width * 3 bytes; null when that is none or too much.
  std::uint8_t* (*open)(void* owner, std::int64_t height, std::int64_t width);
  /// Why there is no picture, as text that ends in a zero.
  void (*fail)(void* owner, const char* why);
};

using DecodePicture = void (*)(const std::uint8_t* file, std::size_t size, const PictureHost* host);

struct PictureModule {
  std::uint32_t version;
  DecodePicture jpeg, jpeg2000, png, tiff, webp;
};

inline constexpr std::uint32_t picture_module_version = 1;
inline constexpr const char* picture_module_entry = "onnxkit_pictures";

}  // namespace onnxkit::wire
