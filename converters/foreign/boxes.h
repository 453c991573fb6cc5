#pragma once

#include <vector>

#include "converters/foreign/onnx_builder.h"

namespace onnxkit::foreign {

/// The places, of int64, of boxes [n, 4] that overlap better ones less than a bound, best first: NonMaxSuppression of one image and one class. `most`
/// is a vector of one element, as are `bounds`: of the overlap, and perhaps of scores.
Val best_boxes(OnnxBuilder& onnx, Val boxes, Val scores, Val most, const std::vector<Val>& bounds);

}  // namespace onnxkit::foreign
