#pragma once

#include <string_view>
#include <vector>

#include "converters/opset/engine/step.h"

// Until opset 6 an operator of two inputs wants equal shapes, or with `broadcast` lets B cover a run of A's axes that starts at `axis`; variadic
// ones want equal shapes until 7. Later versions broadcast as numpy does.
namespace onnxkit::opset {

/// B gets its place by axes of size 1 behind its own.
void to_numpy_broadcast(Step& step);
/// `swapped`: the operator that gives the same when its operands change places; empty when there is none.
void to_limited_broadcast(Step& step, std::string_view swapped);
/// The values brought to the shape that they broadcast to, in operators of opsets 6 and 7. Values of equal shape stay as they are.
std::vector<ValueId> with_common_shape(Step& step, const std::vector<ValueId>& values);
/// A vector of ones; `count` is a vector of one int64 that holds how many.
ValueId ones(Step& step, ValueId count);

}  // namespace onnxkit::opset
