#pragma once

#include <optional>

#include "onnxkit/diff.h"
#include "onnxkit/value.h"

namespace onnxkit::comparison {

/// For tensors of numbers and of the same shape; pairs that are not finite on both sides are left out. Does not depend on the number of
/// threads, 0 for all cores.
Scatter scatter_of(const Tensor& a, const Tensor& b, int threads = 0);

/// nullopt when the tensors do not have the form of a segmentation, or not the same shape, or no pixels.
std::optional<ClassMaps> class_maps_of(const Tensor& a, const Tensor& b);

}  // namespace onnxkit::comparison
