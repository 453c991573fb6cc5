#include <png.h>

#include <csetjmp>

#include "libonnxkit/wire/picture/codecs.h"

namespace onnxkit::wire {
namespace {

// libpng leaves by longjmp: between setjmp and the end of each function below nothing with a destructor lives.
struct Reading {
  PictureBytes file;
  std::size_t at = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string fault;
  std::vector<png_bytep> rows;

  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
};

void on_read(png_structp png, png_bytep out, std::size_t length) {
  auto& reading = *static_cast<Reading*>(png_get_io_ptr(png));
  if (length > reading.file.size() - reading.at) png_error(png, cut_off);
  std::memcpy(out, reading.file.data() + reading.at, length);
  reading.at += length;
}

void on_error(png_structp png, png_const_charp message) {
  static_cast<Reading*>(png_get_error_ptr(png))->fault = message;
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

/// Any form becomes red, green and blue in 8 bits.
bool read_header(Reading& reading) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_set_read_fn(reading.png, &reading, on_read);
  png_read_info(reading.png, reading.info);
  png_set_expand(reading.png);
  png_set_strip_16(reading.png);
  png_set_strip_alpha(reading.png);
  png_set_gray_to_rgb(reading.png);
  png_set_interlace_handling(reading.png);
  png_read_update_info(reading.png, reading.info);
  return true;
}

bool read_rows(Reading& reading) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_read_image(reading.png, reading.rows.data());
  png_read_end(reading.png, nullptr);
  return true;
}

}  // namespace

std::string read_png(PictureBytes file, Canvas& canvas) {
  Reading reading;
  reading.file = file;
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, on_error, on_warning);
  reading.info = reading.png ? png_create_info_struct(reading.png) : nullptr;
  if (!reading.info) return "the PNG library cannot be used";
  if (!read_header(reading)) return reading.fault;
  const std::int64_t height = png_get_image_height(reading.png, reading.info);
  const std::int64_t width = png_get_image_width(reading.png, reading.info);
  if (png_get_rowbytes(reading.png, reading.info) != static_cast<std::size_t>(width) * 3)
    return "the PNG file has an unusual form";
  if (!canvas.open(height, width)) return too_large;
  for (std::int64_t y = 0; y < height; ++y) reading.rows.push_back(canvas.row(y));
  if (!read_rows(reading)) return reading.fault;
  return {};
}

}  // namespace onnxkit::wire
