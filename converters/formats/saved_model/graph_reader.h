#pragma once

#include "converters/foreign/graph.h"
#include "converters/formats/saved_model/scopes.h"
#include "converters/formats/saved_model/variables.h"

namespace onnxkit::saved_model {

/// A tensor of the main graph that has a name of its own in a signature.
struct Port {
  std::string_view tensor;  ///< "node:0"
  std::string_view name;
  foreign::TensorType type = {};
};

/// Whether an operator leaves something behind for a later run.
bool changes_state(std::string_view op);

/// Reads what outputs need of TensorFlow's graph into `model.graph`: calls of functions are inlined, variables are tensors, bodies are
/// graphs. Error codes: malformed-model, not-supported, cannot-read.
Result<void> read_graph(Scopes& scopes, const Mappings& mappings, const Variables& variables,
                        const std::vector<Port>& inputs, const std::vector<Port>& outputs, foreign::Model& model);

}  // namespace onnxkit::saved_model
