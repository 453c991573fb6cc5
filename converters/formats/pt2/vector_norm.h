#pragma once

#include <cstdint>
#include <vector>

#include "converters/foreign/call.h"

namespace onnxkit::pt2 {

/// The norm of this order over some axes: of order 0 how many elements are not zero, of infinity the largest one.
foreign::Val vector_norm(foreign::Call& call, foreign::Val x, const std::vector<std::int64_t>& axes, bool keeps,
                         double order);

/// The norm of x1 - x2 + eps over the last axis.
foreign::Val distance_of_rows(foreign::Call& call, foreign::Val x1, foreign::Val x2, double eps, double order,
                              bool keeps);

}  // namespace onnxkit::pt2
