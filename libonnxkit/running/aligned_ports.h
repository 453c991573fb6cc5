#pragma once

#include "libonnxkit/ir/model.h"

namespace onnxkit::running {

/// Gives inputs and outputs of a model the names that those in the same places have in another one, where both have as many and not the same names in
/// another order. What cannot be named
/// so, as a value that is two outputs, keeps its name.
void align_ports(ir::Model& model, const ir::Model& other);

}  // namespace onnxkit::running
