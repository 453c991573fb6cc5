#pragma once

#include <vector>

#include "converters/opset/engine/step.h"
#include "libonnxkit/ir/builder.h"

namespace onnxkit::opset {

/// A graph's nodes, and of which node of the file each comes.
struct Lineage {
  std::vector<std::uint32_t> origin;  ///< by node
  std::vector<bool> blocked;          ///< by node: refused once, left alone since
};

struct PatchedNode {
  std::size_t node = 0;
  Patch patch;
};

/// Applies patches, sorted by node, to a graph, but those that remove what a refused node reads: their nodes are blocked. Nodes that go are kept in `gone`, so that no graph inside them is freed. Returns the indices of
/// all nodes that are new or changed.
std::vector<std::size_t> apply(std::vector<PatchedNode>& patches, ir::Model& model, ir::Graph& graph, Lineage& lineage,
                               ir::FreshNames& names, std::vector<ir::Node>& gone);

}  // namespace onnxkit::opset
