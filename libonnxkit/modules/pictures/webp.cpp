#include <webp/decode.h>

#include "libonnxkit/wire/picture/codecs.h"

namespace onnxkit::wire {

std::string read_webp(PictureBytes file, Canvas& canvas) {
  int width = 0, height = 0;
  if (!WebPGetInfo(file.data(), file.size(), &width, &height)) return "the WebP header is malformed";
  if (!canvas.open(height, width)) return too_large;
  const auto stride = static_cast<std::size_t>(width) * 3;
  if (stride > INT32_MAX) return too_large;
  if (!WebPDecodeRGBInto(file.data(), file.size(), canvas.row(0), stride * static_cast<std::size_t>(height),
                         static_cast<int>(stride)))
    return "the WebP data is malformed";
  return {};
}

}  // namespace onnxkit::wire
