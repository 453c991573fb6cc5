#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit {

struct ExtractOptions {
  /// Values of the main graph that become inputs. Inputs of the model that the part needs beside them stay inputs.
  std::vector<std::string> from = {};
  /// Values of the main graph that become the outputs, in this order; empty: those of the model.
  std::vector<std::string> to = {};
  /// Schemas of operators, and what else calls share.
  Context context = {};
};

struct Extraction {
  Model model;
  std::size_t nodes = 0, all_nodes = 0;  ///< of the part and of the model, in their main graphs
  std::vector<std::string> inputs;       ///< of the part
  std::vector<std::string>
      also_needed;  ///< those of them that are inputs of the model and not in `from`, where that names some
};

/// The part of a model that computes `to` from `from`, as a model of its own with the nodes, weights and functions that it needs. Values have the types
/// that inference finds. Training information goes. Errors: no-graph, unknown-value, usage (a value of `from` that no output needs, a name twice),
/// input-type (a value that becomes an input, of which no type is known).
ONNXKIT_API Result<Extraction> extract(const Model& model, const ExtractOptions& options);

}  // namespace onnxkit
