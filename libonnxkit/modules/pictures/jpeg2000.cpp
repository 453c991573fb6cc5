#include <openjpeg.h>

#include <algorithm>
#include <memory>

#include "libonnxkit/wire/picture/codecs.h"

namespace onnxkit::wire {
namespace {

struct Reading {
  PictureBytes file;
  std::size_t at = 0;
};

OPJ_SIZE_T on_read(void* out, OPJ_SIZE_T length, void* user) {
  auto& reading = *static_cast<Reading*>(user);
  if (reading.at >= reading.file.size()) return static_cast<OPJ_SIZE_T>(-1);
  const std::size_t count = std::min<std::size_t>(length, reading.file.size() - reading.at);
  std::memcpy(out, reading.file.data() + reading.at, count);
  reading.at += count;
  return count;
}

OPJ_BOOL on_seek(OPJ_OFF_T offset, void* user) {
  auto& reading = *static_cast<Reading*>(user);
  if (offset < 0 || static_cast<std::uint64_t>(offset) > reading.file.size()) return OPJ_FALSE;
  reading.at = static_cast<std::size_t>(offset);
  return OPJ_TRUE;
}

OPJ_OFF_T on_skip(OPJ_OFF_T count, void* user) {
  auto& reading = *static_cast<Reading*>(user);
  if (count < 0) return -1;
  const std::size_t left = reading.file.size() - reading.at;
  reading.at += std::min<std::size_t>(static_cast<std::size_t>(count), left);
  return count;
}

/// A sample as 8 bits.
unsigned sample(const opj_image_comp_t& component, std::size_t at) {
  const std::int64_t offset = component.sgnd ? std::int64_t{1} << (component.prec - 1) : 0;
  const std::int64_t value = component.data[at] + offset;
  const std::int64_t cut = component.prec > 8 ? value >> (component.prec - 8) : value << (8 - component.prec);
  return static_cast<unsigned>(std::clamp<std::int64_t>(cut, 0, 255));
}

std::string check(const opj_image_t& image) {
  if (image.numcomps == 0) return "the image has no channels";
  if (image.color_space == OPJ_CLRSPC_SYCC || image.color_space == OPJ_CLRSPC_EYCC ||
      image.color_space == OPJ_CLRSPC_CMYK)
    return "only grey and RGB colours are supported in JPEG 2000 files";
  for (OPJ_UINT32 c = 0; c < image.numcomps; ++c) {
    const opj_image_comp_t& component = image.comps[c];
    if (component.w != image.comps[0].w || component.h != image.comps[0].h)
      return "channels of different sizes are not supported";
    if (component.prec < 1 || component.prec > 31) return "the depth of a channel is not supported";
  }
  return {};
}

}  // namespace

std::string read_jpeg2000(PictureBytes file, Canvas& canvas) {
  Reading reading{file};
  const std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)> stream(opj_stream_default_create(OPJ_TRUE),
                                                                      opj_stream_destroy);
  const bool bare = file.size() > 0 && file[0] == 0xff;
  const std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)> codec(
      opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), opj_destroy_codec);
  if (!stream || !codec) return "the JPEG 2000 library cannot be used";
  opj_stream_set_user_data(stream.get(), &reading, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.size());
  opj_stream_set_read_function(stream.get(), on_read);
  opj_stream_set_seek_function(stream.get(), on_seek);
  opj_stream_set_skip_function(stream.get(), on_skip);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* header = nullptr;
  if (!opj_setup_decoder(codec.get(), &parameters) || !opj_read_header(stream.get(), codec.get(), &header))
    return "the JPEG 2000 header is malformed";
  const std::unique_ptr<opj_image_t, void (*)(opj_image_t*)> image(header, opj_image_destroy);
  if (std::string fault = check(*image); !fault.empty()) return fault;
  const std::int64_t height = image->comps[0].h, width = image->comps[0].w;
  if (!canvas.open(height, width)) return too_large;
  if (!opj_decode(codec.get(), stream.get(), image.get()) || !opj_end_decompress(codec.get(), stream.get()))
    return "the JPEG 2000 data is malformed";
  if (std::string fault = check(*image); !fault.empty()) return fault;
  const bool colour = image->numcomps >= 3;
  const opj_image_comp_t* channels[] = {&image->comps[0], &image->comps[colour ? 1 : 0], &image->comps[colour ? 2 : 0]};
  for (const opj_image_comp_t* channel : channels) {
    if (!channel->data || channel->w != width || channel->h != height) return "the JPEG 2000 data is malformed";
  }
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const auto at = static_cast<std::size_t>(y * width + x);
      canvas.set(y, x, sample(*channels[0], at), sample(*channels[1], at), sample(*channels[2], at));
    }
  }
  return {};
}

}  // namespace onnxkit::wire
