#include <turbojpeg.h>

#include <limits>
#include <memory>

#include "libonnxkit/wire/picture/codecs.h"

namespace onnxkit::wire {

std::string read_jpeg(PictureBytes file, Canvas& canvas) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (!decoder) return "the JPEG library cannot be used";
  if (file.size() > std::numeric_limits<unsigned long>::max()) return too_large;
  int width = 0, height = 0, subsampling = 0, colours = 0;
  const auto size = static_cast<unsigned long>(file.size());
  if (tjDecompressHeader3(decoder.get(), file.data(), size, &width, &height, &subsampling, &colours) != 0)
    return tjGetErrorStr2(decoder.get());
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) return "JPEG files with four colour channels are not supported";
  if (!canvas.open(height, width)) return too_large;
  constexpr int flags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
  if (tjDecompress2(decoder.get(), file.data(), size, canvas.row(0), width, 0, height, TJPF_RGB, flags) != 0)
    return tjGetErrorStr2(decoder.get());
  return {};
}

}  // namespace onnxkit::wire
