#pragma once

#include "converters/foreign/graph.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit::pt2 {

/// Writes a graph of ATen operators as an archive that torch.export.load reads: the program as JSON in the form of schema 8, and each tensor as the
/// storage that it views, 64-byte aligned. Tensors of floating types with a name of the source are parameters, others buffers.
Result<void> write_program(const foreign::Model& model, const ByteSink& sink);

}  // namespace onnxkit::pt2
