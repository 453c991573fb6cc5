#pragma once

#include <vector>

#include "converters/foreign/sampling.h"
#include "converters/foreign/tensorflow_family/operators.h"

// Images of other sizes, with channels last, and blocks of pixels as channels.
namespace onnxkit::tensorflow_family {

/// Along an axis the product with a matrix of weights, [out, in].
using Interpolate = ValueId (*)(WriteCall& call, ValueId x, std::size_t axis, const foreign::Sampling& sampling,
                                const std::vector<double>& weights);

/// Refuses a Resize that looks elsewhere than kernels and matrices can.
bool has_coordinates(WriteCall& call);
/// A Resize with such coordinates.
void write_resize(WriteCall& call, Interpolate interpolated);

/// Channels as blocks: [N, H, W, C b b] to [N, H b, W b, C].
void write_depth_to_space(WriteCall& call);
void write_space_to_depth(WriteCall& call);

}  // namespace onnxkit::tensorflow_family
