// A Neg whose input another Neg wrote.
#include <vector>

#include "checker/rule_registry.h"

namespace onnxkit::checker {
namespace {

bool is_negation(const ir::Node& node) {
  return node.op_type.view() == "Neg" && ir::canonical_domain(node.domain).empty() && node.inputs.size() == 1 &&
         node.outputs.size() == 1 && node.inputs[0] != ir::ValueId::none && node.outputs[0] != ir::ValueId::none;
}

void check_double_negation(RuleContext& context) {
  for (const auto& scope : context.scopes) {
    std::vector<bool> is_negated(scope->graph->values.size());
    for (std::size_t i = 0; i < scope->graph->nodes.size(); ++i) {
      const ir::Node& node = scope->graph->nodes[i];
      if (!is_negation(node)) continue;
      if (is_negated[ir::index_of(node.inputs[0])])
        context.warning("double-negation", context.at(*scope, i), "Neg undoes the Neg that writes its input");
      is_negated[ir::index_of(node.outputs[0])] = true;
    }
  }
}

}  // namespace

void register_double_negation(RuleRegistry& registry) { registry.add(Stage::operators, check_double_negation); }

}  // namespace onnxkit::checker
