#include "libonnxkit/plan/draws.h"

#include <algorithm>

#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::plan {

Draws::Draws(const ir::Model& model, const spec::OpTable& table) : model_(model), table_(table), functions_(model) {}

bool Draws::node_draws(const ir::Node& node, const Imports& imports) const {
  if (!model_.functions.empty()) {
    if (const ir::Function* function = functions_.find(node)) return function_draws(*function);
  }
  bool has_graphs = false, found = false;
  ir::for_each_subgraph(node, [&](const ir::Graph& inner, std::size_t) {
    has_graphs = true;
    found = found || graph_draws(inner, imports);
  });
  if (has_graphs) return found;  // schemas say of If and Loop that their graphs may
  const std::string_view domain = ir::canonical_domain(node.domain);
  const auto opset = ir::opset_of(imports, domain);
  const spec::OpSchema* schema = opset ? table_.find_with_additions(domain, node.op_type, *opset) : nullptr;
  return schema && schema->non_deterministic;
}

bool Draws::graph_draws(const ir::Graph& graph, const Imports& imports) const {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const ir::Node& node) { return node_draws(node, imports); });
}

bool Draws::function_draws(const ir::Function& function) const {
  const auto [known, is_new] = known_.try_emplace(&function, false);  // of a function that calls itself
  if (!is_new) return known->second;
  return known_[&function] = graph_draws(function.body, function.opset_imports);
}

}  // namespace onnxkit::plan
