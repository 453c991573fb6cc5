#pragma once

#include "converters/foreign/graph.h"

namespace onnxkit::pt2 {

/// Puts the nodes of graphs that run once, under settings that do not change what is computed, in the place of the nodes that hold
/// them: torch.no_grad(), and autocast that is turned off.
void inline_wrapped(foreign::Graph& graph);

}  // namespace onnxkit::pt2
