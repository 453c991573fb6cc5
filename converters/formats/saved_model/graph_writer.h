#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converters/containers/protobuf_writer.h"
#include "converters/foreign/graph.h"
#include "onnxkit/result.h"

namespace onnxkit::saved_model {

/// The files of a SavedModel. Contents view into the model that they were made of.
struct ModelFiles {
  containers::ProtoMessage model;                ///< saved_model.pb
  std::string index;                             ///< variables/variables.index; empty where there are no variables
  std::vector<std::span<const std::byte>> data;  ///< variables/variables.data-00000-of-00001, one behind the other
};

/// A graph of TensorFlow's operators as a SavedModel with one signature, serving_default. Nodes are named by their values as far as names of nodes
/// can be so. Weights are constants while the message stays below `most_bytes`, else variables. The same graph gives the same bytes. Error codes:
/// not-supported.
Result<ModelFiles> model_files(const foreign::Model& model, std::uint64_t most_bytes = 0x7fffffff);

/// The same graph as a message GraphDef with all weights: outputs are nodes that nothing reads, in their order. "x:0" names the node "x", as in
/// TensorFlow. Error codes: not-supported, also where the message takes more than `most_bytes`.
Result<containers::ProtoMessage> frozen_graph(const foreign::Model& model, std::uint64_t most_bytes = 0x7fffffff);

/// What TensorFlow calls an output of this name in such a graph.
std::string tensor_of_output(std::string_view output);

}  // namespace onnxkit::saved_model
