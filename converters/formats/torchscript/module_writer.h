#pragma once

#include "converters/foreign/graph.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit::torchscript {

/// Writes a graph of ATen operators as an archive that torch.jit.load reads, in libtorch since 1.8 as well: one class with the tensors as
/// attributes and a forward without calls of other methods. Error codes: not-supported (an element type that TorchScript cannot store),
/// those of the sink.
Result<void> write_module(const foreign::Model& model, const ByteSink& sink);

}  // namespace onnxkit::torchscript
