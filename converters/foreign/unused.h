#pragma once

#include "converters/foreign/graph.h"

namespace onnxkit::foreign {

/// Removes nodes and tensors that no output needs. Values keep their ids.
void remove_unused(Graph& graph);

}  // namespace onnxkit::foreign
