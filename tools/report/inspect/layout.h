#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "onnxkit/inspect.h"

namespace onnxkit::tools {

/// A graph laid out in layers from top to bottom, for drawing. Units are pixels.
struct LaidOutGraph {
  enum class Kind { node, input, output };
  struct Box {
    Kind kind = Kind::node;
    std::size_t index = 0;  ///< into GraphSummary's nodes, inputs or outputs
    double x = 0, y = 0;    ///< centre
    double width = 0;
  };
  struct Edge {
    std::size_t from = 0, to = 0;  ///< boxes
    std::string value;
    std::vector<std::pair<double, double>> bends;  ///< between the two boxes
  };
  std::vector<Box> boxes;
  std::vector<Edge> edges;
  double width = 0, height = 0;
};

/// Layered layout (Sugiyama): layers by longest path, order within a layer by barycentres, positions by averaging over neighbours.
/// Ours rather than Graphviz's: dot takes minutes for the 5,000 nodes that this draws at once, and a page must not depend on it.
LaidOutGraph lay_out(const GraphSummary& graph);

}  // namespace onnxkit::tools
