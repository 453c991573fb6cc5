#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <memory>

#include "libonnxkit/wire/picture/codecs.h"

namespace onnxkit::wire {
namespace {

struct Reading {
  PictureBytes file;
  std::uint64_t at = 0;
  std::string fault;
};

Reading& reading_of(thandle_t handle) { return *static_cast<Reading*>(handle); }

tmsize_t on_read(thandle_t handle, void* out, tmsize_t length) {
  Reading& reading = reading_of(handle);
  if (length < 0 || reading.at >= reading.file.size()) return 0;
  const std::size_t count = std::min<std::size_t>(static_cast<std::size_t>(length), reading.file.size() - reading.at);
  std::memcpy(out, reading.file.data() + reading.at, count);
  reading.at += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t on_write(thandle_t, void*, tmsize_t) { return 0; }

toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
  Reading& reading = reading_of(handle);
  if (whence == SEEK_CUR) offset += reading.at;
  if (whence == SEEK_END) offset += reading.file.size();
  return reading.at = offset;
}

int on_close(thandle_t) { return 0; }
toff_t on_size(thandle_t handle) { return reading_of(handle).file.size(); }

int on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  char text[200];
  std::vsnprintf(text, sizeof text, format, arguments);
  static_cast<Reading*>(user)->fault = text;
  return 1;
}
int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

std::string fault_of(const Reading& reading) {
  return reading.fault.empty() ? "the TIFF data is malformed" : reading.fault;
}

}  // namespace

std::string read_tiff(PictureBytes file, Canvas& canvas) {
  Reading reading;
  reading.file = file;
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  if (!options) return "the TIFF library cannot be used";
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, &reading);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, &reading);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), tmsize_t{1} << 30);
  const std::unique_ptr<TIFF, void (*)(TIFF*)> tiff(
      TIFFClientOpenExt("picture", "rm", &reading, on_read, on_write, on_seek, on_close, on_size, nullptr, nullptr,
                        options.get()),
      TIFFClose);
  if (!tiff) return fault_of(reading);
  std::uint32_t width = 0, height = 0;
  if (!TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) || !TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height))
    return "the TIFF file does not state its size";
  if (!canvas.open(height, width)) return too_large;
  std::vector<std::uint32_t> raster(std::size_t{width} * height);
  if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.data(), ORIENTATION_TOPLEFT, 1))
    return fault_of(reading);
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t pixel = raster[std::size_t{y} * width + x];
      canvas.set(y, x, TIFFGetR(pixel), TIFFGetG(pixel), TIFFGetB(pixel));
    }
  }
  return {};
}

}  // namespace onnxkit::wire
