#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "libonnxkit/ir/model.h"

namespace onnxkit::ir {

/// Indices of the producing nodes by ValueId, -1 for values that no node of the graph writes. The first writer counts.
std::vector<std::int32_t> producers(const Graph& graph);

/// The nodes in an order in which every value is written before it is read, subgraphs' captures included: the file's own order
/// when it is one, else the stable topological order. Nodes on a cycle come last, in file order.
std::vector<std::size_t> evaluation_order(const Graph& graph);
/// The same for who has the producers already.
std::vector<std::size_t> evaluation_order(const Graph& graph, const std::vector<std::int32_t>& producer);

/// The same model where the nodes of all its graphs are in an evaluation order, else a copy in which they are.
std::shared_ptr<const Model> in_evaluation_order(std::shared_ptr<const Model> model);

/// Values of `graph` that the subgraphs of `node` (at any depth) read or might read.
std::vector<ValueId> captured_values(const Graph& graph, const Node& node);

/// Calls visit(graph, attribute index) for each graph that the node's attributes hold directly. Graphs are as constant as the node.
template <class SomeNode, class Visit>
void for_each_subgraph(SomeNode& node, Visit&& visit) {
  using SomeGraph = std::conditional_t<std::is_const_v<SomeNode>, const Graph, Graph>;
  for (std::size_t i = 0; i < node.attributes.size(); ++i) {
    auto& payload = node.attributes[i].payload;
    if (auto* graph = std::get_if<std::unique_ptr<Graph>>(&payload); graph && *graph)
      visit(static_cast<SomeGraph&>(**graph), i);
    if (auto* graphs = std::get_if<std::vector<std::unique_ptr<Graph>>>(&payload)) {
      for (auto& graph : *graphs) {
        if (graph) visit(static_cast<SomeGraph&>(*graph), i);
      }
    }
  }
}

}  // namespace onnxkit::ir
