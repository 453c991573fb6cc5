#pragma once

#include "converters/formats/tflite/emit.h"

// Windows that move over the spatial axes of a value whose channels are last.
namespace onnxkit::to_tflite {

struct Windows {
  Ints kernel, strides, dilations;
  Ints begins, ends;     ///< pads, those of auto_pad and of ceil_mode included
  bool is_same = false;  ///< the pads are those of SAME
};

/// From the attributes of Conv and the pooling operators. Refuses what sizes must be known for that are not.
Windows windows_of(WriteCall& call, Ints kernel);
/// Padded with that value where the pads are neither those of SAME nor 0. `padding` becomes the option.
ValueId padded(WriteCall& call, ValueId x, const Windows& windows, double value, Padding& padding);
/// A value [N, L, C] as [N, 1, L, C]; others stay.
ValueId with_two_spatial_axes(WriteCall& call, ValueId x);
/// Windows over [N, L, C] as those over [N, 1, L, C].
Windows with_two_spatial_axes(Windows windows);
/// The result of what worked on [N, 1, L, C].
void give_spatial(WriteCall& call, ValueId result);

}  // namespace onnxkit::to_tflite
