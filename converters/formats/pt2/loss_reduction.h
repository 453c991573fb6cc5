#pragma once

#include "converters/foreign/call.h"

namespace onnxkit::pt2 {

/// What argument `reduction` makes of the losses of elements: all of them, their mean or their sum.
inline foreign::Val reduced_loss(foreign::Call& call, foreign::Val loss) {
  constexpr std::int64_t none = 0, mean = 1;
  const std::int64_t reduction = call.integer("reduction", mean);
  if (reduction == none) return loss;
  return call.onnx.emit(reduction == mean ? "ReduceMean" : "ReduceSum", {loss}, {{"keepdims", std::int64_t{0}}});
}
inline void give_reduced_loss(foreign::Call& call, foreign::Val loss) { call.result(reduced_loss(call, loss)); }

}  // namespace onnxkit::pt2
