#pragma once

#include "converters/foreign/windows.h"
#include "converters/formats/saved_model/emit.h"

// Windows as TensorFlow's operators state them.
namespace onnxkit::to_tensorflow {

using foreign::kernel_of;
using foreign::Reach;
using foreign::reach_of;
using foreign::Windows;
using foreign::windows_of;
using foreign::with_two_spatial_axes;

/// Numbers of the spatial axes as those of all axes, [1, spatial..., 1].
Ints for_all_axes(const Ints& spatial);
/// The attributes `padding` and `explicit_paddings`. Only operators over two axes can state pads.
void state_padding(std::vector<Given>& given, const Windows& windows, bool can_be_explicit);
/// Padded with that value where the pads are neither those of SAME nor 0, for operators that cannot state pads.
ValueId padded(WriteCall& call, ValueId x, Windows& windows, double value);
/// A value [N, L, C] as [N, 1, L, C]; others stay.
ValueId with_two_spatial_axes(WriteCall& call, ValueId x);
/// A type [N, L, C] as [N, 1, L, C]; others stay.
Type images_of(Type type);
/// The result of what worked on [N, 1, L, C].
void give_spatial(WriteCall& call, ValueId result);

}  // namespace onnxkit::to_tensorflow
