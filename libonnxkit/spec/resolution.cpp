#include "libonnxkit/spec/resolution.h"

#include "libonnxkit/ir/order.h"

namespace onnxkit::spec {

Resolution::Resolution(const ir::Model& model, const OpTable& table)
    : Resolution(model, ir::graph_scopes(model), table) {}

Resolution::Resolution(const ir::Model& model, std::span<const std::unique_ptr<ir::GraphScope>> scopes,
                       const OpTable& table)
    : table_(&table), functions_(model) {
  for (const auto& scope : scopes) {
    std::vector<ResolvedNode>& nodes = graphs_[scope->graph];
    nodes.reserve(scope->graph->nodes.size());
    for (const ir::Node& node : scope->graph->nodes) nodes.push_back(resolve(node, scope->opsets));
  }
}

ResolvedNode Resolution::resolve(const ir::Node& node, std::span<const ir::OpsetImport> opsets) const {
  ResolvedNode resolved;
  resolved.opset = ir::opset_of(opsets, node.domain);
  resolved.function = functions_.find(node);
  if (resolved.opset && !resolved.function)
    resolved.schema = table_->find_with_additions(ir::canonical_domain(node.domain), node.op_type, *resolved.opset);
  return resolved;
}

void Resolution::extend(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets) {
  for (std::size_t n = graphs_[&graph].size(); n < graph.nodes.size(); ++n) {
    graphs_[&graph].push_back(resolve(graph.nodes[n], opsets));
    ir::for_each_subgraph(graph.nodes[n], [&](const ir::Graph& inner, std::size_t) { extend(inner, opsets); });
  }
}

}  // namespace onnxkit::spec
