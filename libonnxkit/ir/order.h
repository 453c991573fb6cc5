#pragma once

#include <cstddef>
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

/// Values of `graph` that the subgraphs of `node` (at any depth) read or might read.
std::vector<ValueId> captured_values(const Graph& graph, const Node& node);

/// Calls visit(const Graph&, attribute index) for each graph that the node's attributes hold directly.
template <class Visit>
void for_each_subgraph(const Node& node, Visit&& visit) {
  for (std::size_t i = 0; i < node.attributes.size(); ++i) {
    const Attribute& attribute = node.attributes[i];
    if (const Graph* graph = attribute.graph()) visit(*graph, i);
    if (const auto* graphs = attribute.as<std::vector<std::unique_ptr<Graph>>>()) {
      for (const auto& graph : *graphs) {
        if (graph) visit(*graph, i);
      }
    }
  }
}

}  // namespace onnxkit::ir
