#pragma once

#include "libonnxkit/ir/model.h"

namespace onnxkit::opset {

/// Declares what Casts below opset 6 make: `to` is text there, from which the schemas of the onnx package and what is built on them infer no type.
void declare_casts(ir::Graph& graph);

}  // namespace onnxkit::opset
