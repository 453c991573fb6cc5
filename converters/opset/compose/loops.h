#pragma once

#include "converters/opset/engine/step.h"

// Lists whose lengths are known at run time only, by Loops: below opset 9 nothing else makes them.
namespace onnxkit::opset {

/// 0, 1 ... count - 1 as a vector of int64; `count` is an int64 of one element.
ValueId counted_by_loop(Step& step, ValueId count);
/// The positions of the elements other than 0 in a vector of int64 that holds 0 and 1, in their order.
ValueId places_of_ones(Step& step, ValueId flags);

}  // namespace onnxkit::opset
