#include "converters/layout/layout.h"

#include <algorithm>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "converters/layout/graph_layout.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::layout {

void register_all_layout_rules(Rules& rules);

namespace {

bool has_transpose(const ir::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const ir::Node& node) { return node.op_type == "Transpose"; });
}

}  // namespace

std::size_t reduce_transposes(ir::Model& model) {
  const auto scopes = ir::graph_scopes(model);
  if (std::none_of(scopes.begin(), scopes.end(), [](const auto& scope) { return has_transpose(*scope->graph); }))
    return 0;
  Rules rules;
  register_all_layout_rules(rules);
  const spec::OpTable table;
  checker::Collector collector;
  const checker::InferredModel inferred = checker::infer_types(model, table, {}, collector);
  const std::vector<ir::Graph*> graphs = ir::mutable_graphs(model);
  ir::FreshNames names(model);
  std::size_t fewer = 0;
  // Inner graphs first: an outer one that is written anew has copies of them.
  for (std::size_t g = graphs.size(); g-- > 0;) {
    const auto opset = scopes[g]->opset("");
    if (!opset || scopes[g]->function || scopes[g]->is_training) continue;
    fewer += GraphLayout(model, *graphs[g], inferred, rules, *opset, names).reduce();
  }
  return fewer;
}

}  // namespace onnxkit::layout
