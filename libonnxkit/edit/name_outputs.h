#pragma once

#include "libonnxkit/ir/model.h"

namespace onnxkit::edit {

/// An Identity in front of an output goes, and the node before it writes the output, where nothing else asks for the name of what was between.
void name_outputs(ir::Graph& graph);

}  // namespace onnxkit::edit
