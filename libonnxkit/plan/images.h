#pragma once

#include "libonnxkit/plan/compose.h"

// What lowerings of convolutions and pools have in common.
namespace onnxkit::plan {

/// The sizes of a window, per axis of the image, as Conv and the pools state them.
struct Window {
  Dims kernel, strides, dilations, pads;
};
Window window_geometry(LowerCall& call, Dims kernel);

/// With an image axis of one element in front, for what has only one axis.
View with_height(const View& view);
Window with_height(Window window);

/// A new float32 tensor [n, c, h, w] with channels side by side, and a view as such.
View make_channels_last(LowerCall& call, const Dims& dims);
View channels_last(LowerCall& call, const View& view);
/// to = from, as float32.
void copy_as_float32(LowerCall& call, const View& from, const View& to);
/// The second output of MaxPool, and the first without `has_values`: maps over the elements of a window, which are views of the padded image.
Unlowered lower_max_positions(LowerCall& call, bool has_values);
/// The output of a step on images, without the height that was added.
void give_image(LowerCall& call, View image);

}  // namespace onnxkit::plan
