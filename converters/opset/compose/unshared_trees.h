#pragma once

#include "converters/opset/compose/tree_ensemble.h"

namespace onnxkit::opset {

/// The same trees where only leaves have several nodes that lead to them, as ONNX Runtime demands of TreeEnsemble: exporters of LightGBM write a split by
/// categories as comparisons with one number after the other, all of which lead to one node. Such a chain becomes one question for membership;
/// what several nodes lead to all the same stands there as often. Refuses a cycle.
Trees unshared(const Trees& trees);

}  // namespace onnxkit::opset
