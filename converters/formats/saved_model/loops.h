#pragma once

#include "converters/foreign/graph.h"

namespace onnxkit::saved_model {

/// Tells apart what TensorFlow's While passes from pass to pass. Its node gets lists in place of `inputs`: `carried`, `constants` that the
/// body only reads, and `counts`, the lengths of lists of which each pass writes one element, none where it adds one: these become results that
/// are gathered, behind those that are carried. `keeps_last` tells for each whether all passes write the same place. Where the condition compares counters
/// with limits, `starts` and `limits` are these.
void resolve_loops(foreign::Graph& graph);

/// Arrays of TensorFlow 1 that are filled or read as a whole, from the first element to the last, become tensors.
void resolve_arrays(foreign::Graph& graph);

}  // namespace onnxkit::saved_model
