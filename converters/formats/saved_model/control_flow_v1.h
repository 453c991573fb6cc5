#pragma once

#include "converters/formats/saved_model/graph_def.h"
#include "libonnxkit/base/text/string_pool.h"
#include "onnxkit/result.h"

namespace onnxkit::saved_model {

/// Turns loops (`Enter`, `Merge`, `Switch`, `NextIteration`, `Exit`) and branches (`Switch`, `Merge`) of TensorFlow 1 into `While` and `If`
/// with functions, in the main graph and in functions. What does not have the structure that tf.while_loop and tf.cond give stays, and is
/// refused where it is read. Error code: not-supported, when a graph takes too many steps.
Result<void> restructure_control_flow(GraphDef& graph, StringPool& strings);

}  // namespace onnxkit::saved_model
