#include "libonnxkit/cpu/window.h"

namespace onnxkit::cpu {
namespace {

std::int64_t pixel_stride(const plan::View& image) {
  if (image.dims[3] > 1) return image.strides[3];
  if (image.dims[2] > 1) return image.strides[2];
  return image.dims[0] > 1 ? image.strides[0] : image.dims[1];
}

std::int64_t row_stride(const plan::View& image) { return image.dims[2] > 1 ? image.strides[2] : 0; }
std::int64_t image_stride(const plan::View& image) { return image.dims[0] > 1 ? image.strides[0] : 0; }

}  // namespace

Window window_of(const plan::View& from, const plan::View& to, const plan::Dims& kernel, const plan::Dims& strides,
                 const plan::Dims& dilations, const plan::Dims& pads) {
  const bool is_even = to.has_channels_last();
  return {.images = from.dims[0],
          .height = from.dims[2],
          .width = from.dims[3],
          .channels = from.dims[1],
          .out_height = to.dims[2],
          .out_width = to.dims[3],
          .kernel_height = kernel[0],
          .kernel_width = kernel[1],
          .stride_height = strides[0],
          .stride_width = strides[1],
          .dilation_height = dilations[0],
          .dilation_width = dilations[1],
          .pad_top = pads[0],
          .pad_left = pads[1],
          .in_pixel_stride = pixel_stride(from),
          .out_pixel_stride = pixel_stride(to),
          .in_row_stride = row_stride(from),
          .in_image_stride = image_stride(from),
          .out_row_stride = is_even ? 0 : row_stride(to),
          .out_image_stride = is_even ? 0 : image_stride(to)};
}

}  // namespace onnxkit::cpu
