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
  /// Also look at what weights and constants hold (TensorSummary::values and statistics). Takes time that grows with their number, not
  /// with their size: of large tensors a sample is read.
  bool values = false;
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

/// What the elements of a tensor are like. Of a large tensor a sample is looked at, always the same: blocks of elements
/// at equal distances, or the first elements where no raw bytes hold them.
struct ElementStatistics {
  std::uint64_t sampled = 0;  ///< elements that were looked at; all figures are of these
  std::uint64_t nan = 0, infinite = 0, zeros = 0;
  double minimum = 0, maximum = 0, mean = 0;  ///< of the finite ones; NaN where there is none
  /// How many finite elements lie in each of at most 32 parts of equal width of minimum to maximum. An integer type whose numbers are no
  /// more than that has one for each number. Empty where `values` has all elements.
  std::vector<std::uint64_t> histogram;
};

/// An initializer, or what a Constant holds.
struct TensorSummary {
  std::string name;
  std::string type;  ///< of the elements: "float"
  std::vector<std::int64_t> shape;
  std::uint64_t elements = 0, bytes = 0;  ///< of a sparse tensor those that it stores
  bool is_external = false, is_sparse = false;
  /// The first 16 elements as text, or all of a Constant of at most 64.
  std::vector<std::string> values;
  /// Of numbers; complex ones have none.
  std::optional<ElementStatistics> statistics;
  /// Why the elements could not be read; often empty.
  std::string unread;
};

struct NodeSummary {
  std::string name, op;
  std::string doc;
  std::optional<std::int64_t> version;  ///< of the operator: the opset that brought it; none where it is not known
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> inputs, outputs;
  /// What the operator calls each of them: "X", "W", "B"; empty where it is not known.
  std::vector<std::string> formal_inputs, formal_outputs;
  /// What a Constant holds.
  std::optional<TensorSummary> constant;
  /// Values of this graph that the node's subgraphs read.
  std::vector<std::string> captures;
  /// "kernel_shape = [3, 3]", "to = FLOAT", one entry each; long values are shortened.
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
  std::string name, doc;
  std::vector<TensorSummary> initializers;  ///< sparse ones last
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
