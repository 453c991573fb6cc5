#include "libonnxkit/spec/resolution.h"

namespace onnxkit::spec {

Resolution::Resolution(const ir::Model& model, const OpTable& table)
    : Resolution(model, ir::graph_scopes(model), table) {}

Resolution::Resolution(const ir::Model& model, std::span<const std::unique_ptr<ir::GraphScope>> scopes,
                       const OpTable& table)
    : table_(&table), functions_(model) {
  for (const auto& scope : scopes) {
    std::vector<ResolvedNode>& nodes = graphs_[scope->graph];
    nodes.reserve(scope->graph->nodes.size());
    for (const ir::Node& node : scope->graph->nodes) {
      ResolvedNode& resolved = nodes.emplace_back();
      resolved.opset = scope->opset(node.domain);
      resolved.function = functions_.find(node);
      if (resolved.opset && !resolved.function)
        resolved.schema = table.find(ir::canonical_domain(node.domain), node.op_type, *resolved.opset);
    }
  }
}

}  // namespace onnxkit::spec
