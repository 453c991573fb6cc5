#pragma once

#include <cstdint>
#include <vector>

#include "libonnxkit/ir/model.h"

namespace onnxkit::exec {

/// Order of the nodes of one graph, and where the life of each value ends.
struct GraphPlan {
  struct Step {
    std::size_t node;
    /// Values of this graph whose last reader this node is, itself or in a subgraph. Outputs of the graph are never among them;
    /// outputs of the node that nobody reads are.
    std::vector<ir::ValueId> last_reads;
  };
  std::vector<Step> steps;
};

/// Precondition: the graph is acyclic and its values are defined before or by the nodes (a checked model).
GraphPlan plan_graph(const ir::Graph& graph);

}  // namespace onnxkit::exec
