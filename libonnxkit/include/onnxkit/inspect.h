#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit {

struct InspectOptions {
  /// Sizes of named dimensions.
  std::map<std::string, std::int64_t> dims = {};
  /// Schemas of operators, and what else calls share.
  Context context = {};
};

/// A number that may depend on named dimensions: "1024*N"; `value` when it does not.
struct Quantity {
  std::string text;
  std::optional<std::int64_t> value;
};

struct ValueSummary {
  std::string name;
  /// "float[N, 3, 224, 224]".
  std::string type;
};

struct ParameterSummary {
  std::string type;
  std::uint64_t tensors = 0, elements = 0, bytes = 0;
};

struct NodeSummary {
  std::string name, op;
  std::vector<std::string> inputs, outputs;
  /// Values of this graph that the node's subgraphs read.
  std::vector<std::string> captures;
  /// "kernel_shape = [3, 3]", one entry each; long values are shortened.
  std::vector<std::string> attributes;
  /// Types of the outputs, in their order.
  std::vector<std::string> output_types;
  /// Multiplications (each with its addition) of contractions; empty text where the operator has none or shapes are unknown.
  Quantity multiply_adds;
  /// Elements of the initializers of its graph that the node reads; one that several nodes read counts for each.
  std::uint64_t parameters = 0;
  /// Bytes of all outputs; empty text where a size is unknown.
  Quantity output_bytes;
};

/// One graph of the model: the main graph, a function body, or a subgraph.
struct GraphSummary {
  /// "main", "main / node 3 / then_branch", "function pkg::Block".
  std::string path;
  std::vector<ValueSummary> inputs;  ///< those that no initializer gives a value
  std::vector<ValueSummary> outputs;
  std::vector<std::string> initializers;
  std::vector<NodeSummary> nodes;
};

struct FunctionSummary {
  std::string name;
  std::uint64_t nodes = 0, calls = 0;
};

struct InspectReport {
  std::filesystem::path path;
  std::optional<std::int64_t> ir_version, model_version;
  std::string producer, domain, doc;
  /// Domain ("ai.onnx" spelled out) and version.
  std::vector<std::pair<std::string, std::int64_t>> opsets;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<ParameterSummary> parameters;
  /// Bytes of parameters that lie outside the model file.
  std::uint64_t external_bytes = 0;
  /// Operator and how often it occurs, most frequent first; all graphs counted.
  std::vector<std::pair<std::string, std::uint64_t>> operators;
  std::vector<FunctionSummary> functions;
  /// Main graph only, sum over its nodes.
  Quantity multiply_adds;
  /// Nodes with a contraction whose shapes are unknown, so that the sum is a lower bound.
  std::uint64_t uncounted_nodes = 0;
  /// Largest sum of the sizes of values that are alive at once when the main graph runs in file order; bytes, weights left out.
  Quantity activation_peak;
  /// A value whose unknown size leaves the peak unknown; empty when there is none.
  std::string unknown_size;
  /// Named dimensions that these two depend on: sizes for them (`InspectOptions::dims`) make numbers of both.
  std::vector<std::string> free_dims;
  /// Main graph first.
  std::vector<GraphSummary> graphs;
};

/// What is in a model. Invalid models are shown as far as they go. Fails only for wrong options.
ONNXKIT_API Result<InspectReport> inspect(const Model& model, const InspectOptions& options = {});

}  // namespace onnxkit
