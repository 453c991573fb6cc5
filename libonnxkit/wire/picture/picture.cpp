#include "libonnxkit/wire/picture/picture.h"

#include <new>
#include <string_view>

#include "libonnxkit/base/system/module.h"
#include "libonnxkit/wire/picture/codecs.h"

namespace onnxkit::wire {
namespace {

using namespace std::string_view_literals;
/// The decoders that are loaded when first asked for.
Result<const PictureModule*> picture_module() {
  static const auto loaded = []() -> Result<const PictureModule*> {
    const auto entry = load_module("pictures", picture_module_entry);
    if (!entry) return entry.error();
    const auto* table = static_cast<const PictureModule*>(*entry);
    if (table->version != picture_module_version)
      return make_error("missing-module", "libonnxkit_pictures.so is of another version than the library");
    return table;
  }();
  return loaded;
}

/// A decoder of this library, or of the module.
struct Decoder {
  DecodePicture here = nullptr;
  DecodePicture PictureModule::*there = nullptr;
};

Decoder decoder_of(std::string_view start) {
  if (start.starts_with("BM"sv)) return {.here = decode<read_bmp>};
  if (start.starts_with("\xff\xd8\xff"sv)) return {.there = &PictureModule::jpeg};
  if (start.starts_with("\x89PNG\r\n\x1a\n"sv)) return {.there = &PictureModule::png};
  if (start.starts_with("\0\0\0\x0cjP  \r\n\x87\n"sv) || start.starts_with("\xff\x4f\xff\x51"sv))
    return {.there = &PictureModule::jpeg2000};
  if (start.starts_with("II*\0"sv) || start.starts_with("MM\0*"sv)) return {.there = &PictureModule::tiff};
  if (start.starts_with("RIFF"sv) && start.substr(0, 12).ends_with("WEBP"sv)) return {.there = &PictureModule::webp};
  if (start.size() > 2 && start[0] == 'P' && start[1] >= '1' && start[1] <= '6') return {.here = decode<read_pnm>};
  return {};
}

struct Decoding {
  Picture picture;
  std::int64_t max_pixels;
  std::string fault;
};

std::uint8_t* open(void* owner, std::int64_t height, std::int64_t width) {
  auto& decoding = *static_cast<Decoding*>(owner);
  if (height <= 0 || width <= 0 || height > decoding.max_pixels / width) return nullptr;
  try {
    decoding.picture.rgb.resize(static_cast<std::size_t>(height * width * 3));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  decoding.picture.height = height;
  decoding.picture.width = width;
  return decoding.picture.rgb.data();
}

void fail(void* owner, const char* why) { static_cast<Decoding*>(owner)->fault = why; }

}  // namespace

Result<Picture> decode_picture(std::span<const std::byte> file, std::int64_t max_pixels) {
  Decoder decoder = decoder_of({reinterpret_cast<const char*>(file.data()), file.size()});
  if (decoder.there) {
    const auto loaded = picture_module();
    if (!loaded) return loaded.error();
    decoder.here = (*loaded)->*decoder.there;
  }
  if (!decoder.here) return make_error("picture", "the bytes are not an image in a known format");
  Decoding decoding{.picture = {}, .max_pixels = max_pixels, .fault = {}};
  const PictureHost host{.owner = &decoding, .open = open, .fail = fail};
  decoder.here(reinterpret_cast<const std::uint8_t*>(file.data()), file.size(), &host);
  if (!decoding.fault.empty()) return make_error("picture", std::move(decoding.fault));
  return std::move(decoding.picture);
}

}  // namespace onnxkit::wire
