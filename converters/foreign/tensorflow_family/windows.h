#pragma once

#include <string_view>

#include "converters/foreign/tensorflow_family/operators.h"
#include "converters/foreign/windows.h"

// Windows over one or two spatial axes, which operators over images write.
namespace onnxkit::tensorflow_family {

using foreign::kernel_of;
using foreign::Reach;
using foreign::reach_of;
using foreign::Windows;
using foreign::windows_of;
using foreign::with_two_spatial_axes;

/// Those of a pooling operator over so many axes at most, without dilations; refuses others, for the reason that is given.
std::optional<Windows> pool_windows(WriteCall& call, std::size_t most_axes, std::string_view reason);
/// Numbers of the spatial axes as those of all axes, [border, spatial..., border].
Ints for_all_axes(const Ints& spatial, std::int64_t border);
/// A value [N, L, C] as [N, 1, L, C]; others stay.
ValueId with_two_spatial_axes(WriteCall& call, ValueId x);
/// A type [N, L, C] as [N, 1, L, C]; others stay.
Type images_of(Type type);
/// The result of what worked on [N, 1, L, C].
void give_spatial(WriteCall& call, ValueId result);
/// Pads of 0 count as elements, so the mean is put right by a factor for each place where they should not.
ValueId counted_mean(WriteCall& call, ValueId mean, const Windows& windows, bool counts_pads);

}  // namespace onnxkit::tensorflow_family
