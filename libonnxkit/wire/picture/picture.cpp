#include "libonnxkit/wire/picture/picture.h"

#include <string_view>

#include "libonnxkit/wire/picture/codecs.h"

namespace onnxkit::wire {
namespace {

using namespace std::string_view_literals;
using Reader = std::string (*)(PictureBytes, Canvas&);

Reader reader_of(std::string_view start) {
  if (start.starts_with("BM"sv)) return read_bmp;
  if (start.starts_with("\xff\xd8\xff"sv)) return read_jpeg;
  if (start.starts_with("\x89PNG\r\n\x1a\n"sv)) return read_png;
  if (start.starts_with("\0\0\0\x0cjP  \r\n\x87\n"sv) || start.starts_with("\xff\x4f\xff\x51"sv)) return read_jpeg2000;
  if (start.starts_with("II*\0"sv) || start.starts_with("MM\0*"sv)) return read_tiff;
  if (start.starts_with("RIFF"sv) && start.substr(0, 12).ends_with("WEBP"sv)) return read_webp;
  if (start.size() > 2 && start[0] == 'P' && start[1] >= '1' && start[1] <= '6') return read_pnm;
  return nullptr;
}

}  // namespace

Result<Picture> decode_picture(std::span<const std::byte> file, std::int64_t max_pixels) {
  const PictureBytes bytes(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  const Reader reader = reader_of({reinterpret_cast<const char*>(file.data()), file.size()});
  if (!reader) return make_error("picture", "the bytes are no picture of a known form");
  Picture picture;
  Canvas canvas(picture, max_pixels);
  if (std::string fault = reader(bytes, canvas); !fault.empty()) return make_error("picture", std::move(fault));
  return picture;
}

}  // namespace onnxkit::wire
