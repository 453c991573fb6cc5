#pragma once

#include <string>

#include "converters/foreign/graph.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

// ONNX as code that a person can read and train: a module of Python and its weights as safetensors.
namespace onnxkit::torch_source {

/// A file of Python with `class Model(torch.nn.Module)`. Weights are looked for beside it, under its own name with .safetensors.
std::string source_text(const foreign::Model& model);

/// The weights under the names that `source_text` reads them by. Error codes: not-supported (an element type that safetensors lacks), those of the sink.
Result<void> write_weights(const foreign::Model& model, const ByteSink& sink);

}  // namespace onnxkit::torch_source
