#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"

// The graphs of a model with their surroundings, and how messages name locations in them.
namespace onnxkit::ir {

/// "" for both "" and "ai.onnx": the two names of the default domain.
std::string_view canonical_domain(std::string_view domain);

/// Version that a list of imports has of a domain, the first when it repeats it.
std::optional<std::int64_t> opset_of(std::span<const OpsetImport> imports, std::string_view domain);

/// One graph of a model with its surroundings: the main graph, a subgraph, a function body, a training graph.
struct GraphScope {
  const Graph* graph = nullptr;
  const GraphScope* parent = nullptr;  ///< graph that holds the node whose attribute this is; null for outermost graphs
  std::size_t parent_node = 0;
  const Function* function = nullptr;   ///< the function that this graph is or lies in
  std::span<const OpsetImport> opsets;  ///< imports in force here
  std::vector<std::string> path;        ///< Location::scope of what lies in this graph
  bool is_training = false;

  /// Opset of a domain, if imported.
  std::optional<std::int64_t> opset(std::string_view domain) const { return opset_of(opsets, domain); }
};

/// All graphs of a model, each before the graphs inside it. Scopes point at one another, so the list does not move them.
std::vector<std::unique_ptr<GraphScope>> graph_scopes(const Model& model);
/// The graphs of `graph_scopes(model)`, in its order, for who changes them.
std::vector<Graph*> mutable_graphs(Model& model);

/// "main / node 3 / then_branch"
std::string path_text(std::span<const std::string> path);
/// "function pkg::Block"
std::string function_step(const Function& function);
/// Operator as messages name it: "Conv", "com.microsoft::Gelu".
std::string qualified_op(const Node& node);
/// The first output that is not left out; none where all are.
ValueId first_output(const Node& node);
/// What reports call a node: its name, else the first value that it writes, which is "" where there is none.
std::string_view title_of(const Graph& graph, const Node& node);
/// A node of a graph whose path is known; without the file.
Location location_of_node(std::vector<std::string> path, const Graph& graph, std::size_t node);

}  // namespace onnxkit::ir
