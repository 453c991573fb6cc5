#pragma once

#include "converters/foreign/windows.h"
#include "converters/formats/tflite/emit.h"

// Windows that move over the spatial axes of a value whose channels are last.
namespace onnxkit::to_tflite {

using foreign::kernel_of;
using foreign::Reach;
using foreign::reach_of;
using foreign::Windows;
using foreign::windows_of;
using foreign::with_two_spatial_axes;

/// Padded with that value where the pads are neither those of SAME nor 0. `padding` becomes the option.
ValueId padded(WriteCall& call, ValueId x, const Windows& windows, double value, Padding& padding);
/// A value [N, L, C] as [N, 1, L, C]; others stay.
ValueId with_two_spatial_axes(WriteCall& call, ValueId x);
/// The result of what worked on [N, 1, L, C].
void give_spatial(WriteCall& call, ValueId result);

}  // namespace onnxkit::to_tflite
