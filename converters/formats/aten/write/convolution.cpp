// Convolutions.
#include <algorithm>

#include "converters/formats/aten/lower.h"
#include "converters/formats/aten/padding.h"

namespace onnxkit::aten {
namespace {

using Ints = std::vector<std::int64_t>;

void map_conv(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  if (rank < 3) return call.refuse("its input has no spatial axis");
  const std::size_t spatial = rank - 2;
  const Window window = window_of(call, spatial, 1);
  if (call.refused()) return;
  const auto [x, padding] = padded(call, call.input(0), window, 0);
  call.result(call.emit("aten.convolution.default",
                        {{"input", x},
                         {"weight", call.input(1)},
                         {"bias", call.input(2)},
                         {"stride", window.strides},
                         {"padding", padding},
                         {"dilation", window.dilations},
                         {"transposed", false},
                         {"output_padding", Ints(spatial, 0)},
                         {"groups", call.integer("group", 1)}},
                        call.output_type()));
}

/// The part of the result that pads and output_shape leave.
void map_conv_transpose(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  if (rank < 3) return call.refuse("its input has no spatial axis");
  const std::size_t spatial = rank - 2;
  Window window = window_of(call, spatial, 1);
  if (call.refused()) return;
  const Ints extra = call.integers("output_padding", Ints(spatial, 0));
  const bool is_even = std::equal(window.begins.begin(), window.begins.end(), window.ends.begin());
  if (call.has_attribute("output_shape") || !is_even)
    return call.refuse("its result is cut unevenly, which a transposed convolution of PyTorch does not do");
  call.result(call.emit("aten.convolution.default",
                        {{"input", call.input(0)},
                         {"weight", call.input(1)},
                         {"bias", call.input(2)},
                         {"stride", window.strides},
                         {"padding", window.begins},
                         {"dilation", window.dilations},
                         {"transposed", true},
                         {"output_padding", extra},
                         {"groups", call.integer("group", 1)}},
                        call.output_type()));
}

}  // namespace

void register_convolution(Writers& writers);
void register_convolution(Writers& writers) {
  writers.add("Conv", map_conv);
  writers.add("ConvTranspose", map_conv_transpose);
}

}  // namespace onnxkit::aten
