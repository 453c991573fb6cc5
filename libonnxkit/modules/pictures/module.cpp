#include "libonnxkit/wire/picture/codecs.h"

extern "C" __attribute__((visibility("default"))) const void* onnxkit_pictures();

const void* onnxkit_pictures() {
  using namespace onnxkit::wire;
  static constexpr PictureModule module = {.version = picture_module_version,
                                           .jpeg = decode<read_jpeg>,
                                           .jpeg2000 = decode<read_jpeg2000>,
                                           .png = decode<read_png>,
                                           .tiff = decode<read_tiff>,
                                           .webp = decode<read_webp>};
  return &module;
}
