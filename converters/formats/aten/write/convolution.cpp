// Convolutions.
#include <algorithm>

#include "converters/formats/aten/lower.h"
#include "converters/formats/aten/padding.h"

namespace onnxkit::aten {
namespace {

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

/// What the attributes cut off the whole result at the two ends: pads, or what output_shape and auto_pad leave.
void find_cuts(WriteCall& call, Window& window, const Ints& extra) {
  const std::string_view automatic = call.text("auto_pad", "NOTSET");
  const Ints shape = call.integers("output_shape");
  const bool is_same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (shape.empty() && !is_same) return;
  const std::size_t spatial = window.strides.size();
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto size = call.size(0, i + 2);
    if (!size || (!shape.empty() && shape.size() < spatial)) return call.refuse("the sizes of its input are not known");
    const Int whole = window.strides[i] * (*size - 1) + extra[i] + (window.kernel[i] - 1) * window.dilations[i] + 1;
    const Int total = whole - (shape.empty() ? *size * window.strides[i] : shape[shape.size() - spatial + i]);
    window.begins[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.ends[i] = total - window.begins[i];
  }
}

/// The attributes as PyTorch has them; a result that is cut unevenly is computed whole first.
void map_conv_transpose(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  if (rank < 3) return call.refuse("its input has no spatial axis");
  const std::size_t spatial = rank - 2;
  Window window = window_of(call, spatial, 1);
  const Ints extra = call.integers("output_padding", Ints(spatial, 0));
  if (extra.size() != spatial) return call.refuse("its output_padding does not fit its axes");
  find_cuts(call, window, extra);
  if (call.refused()) return;
  const bool is_even = window.begins == window.ends &&
                       std::all_of(window.begins.begin(), window.begins.end(), [](Int cut) { return cut >= 0; });
  bool fits = true;  // PyTorch lengthens by less than a stride or a dilation
  for (std::size_t i = 0; i < spatial; ++i) fits = fits && extra[i] < std::max(window.strides[i], window.dilations[i]);
  if (!fits) return call.refuse("its output_padding is as long as its stride");
  ValueId y = call.emit("aten.convolution.default",
                        {{"input", call.input(0)},
                         {"weight", call.input(1)},
                         {"bias", call.input(2)},
                         {"stride", window.strides},
                         {"padding", is_even ? window.begins : Ints(spatial, 0)},
                         {"dilation", window.dilations},
                         {"transposed", true},
                         {"output_padding", extra},
                         {"groups", call.integer("group", 1)}},
                        is_even ? call.output_type() : Type::tensor(call.elem(0)));
  if (!is_even) {
    Ints pad;
    for (std::size_t i = spatial; i-- > 0;) pad.insert(pad.end(), {-window.begins[i], -window.ends[i]});
    if (std::any_of(pad.begin(), pad.end(), [](Int one) { return one > 0; }))
      return call.refuse("its result is longer than its input makes it");
    y = call.emit("aten.constant_pad_nd.default", {{"self", y}, {"pad", pad}, {"value", 0.0}}, call.output_type());
  }
  call.result(y);
}

}  // namespace

void register_convolution(Writers& writers);
void register_convolution(Writers& writers) {
  writers.add("Conv", map_conv);
  writers.add("ConvTranspose", map_conv_transpose);
}

}  // namespace onnxkit::aten
