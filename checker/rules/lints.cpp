// Nothing of this makes a model invalid: results that nobody reads, weights that nothing uses, switches left in training mode.
#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::checker {
namespace {

using ir::ValueId;

void check_unused(RuleContext& context, const ir::GraphScope& scope) {
  const ir::Graph& graph = *scope.graph;
  const ir::Uses uses(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    bool used = false;
    for (const ValueId id : node.outputs) used = used || uses.is_used(id);
    if (!used && !node.outputs.empty()) {
      context.warning("unused-node", context.at(scope, n), "nothing reads any output of this node", {}, {},
                      "remove it");
    }
  }
  for (const ir::Tensor& tensor : graph.initializers) {
    const ValueId id = graph.find(tensor.name);
    if (id != ValueId::none && !uses.is_used(id)) {
      context.warning("unused-initializer", context.at(scope, "initializer", tensor.name),
                      "nothing reads this initializer", {}, {}, "remove it");
    }
  }
}

bool is_one(const ir::Node& node, std::string_view attribute) {
  const ir::Attribute* found = node.find_attribute(attribute);
  const auto* value = found ? found->as<std::int64_t>() : nullptr;
  return value && *value != 0;
}

/// Dropout's switch is an input since version 12, constant in what exporters write.
bool trains(const InferredModel& inferred, const ir::Graph& graph, const ir::Node& node) {
  if (node.op_type == "BatchNormalization") return is_one(node, "training_mode");
  if (!(node.op_type == "Dropout") || node.inputs.size() < 3) return false;
  const ValueInfo* info = inferred.find(graph, node.inputs[2]);
  return info && info->value && info->value->elements.size() == 1 && info->value->elements.front().dim().is(1);
}

void check_training_mode(RuleContext& context, const ir::GraphScope& scope) {
  for (std::size_t n = 0; n < scope.graph->nodes.size(); ++n) {
    const ir::Node& node = scope.graph->nodes[n];
    if (!ir::canonical_domain(node.domain).empty() || !trains(*context.inferred, *scope.graph, node)) continue;
    context.warning("training-mode", context.at(scope, n),
                    "the operator runs in training mode: its results vary or depend on the batch", {}, {},
                    "export the model in evaluation mode");
  }
}

void check_lints(RuleContext& context) {
  for (const auto& scope : context.scopes) {
    if (scope->is_training) continue;
    check_unused(context, *scope);
    check_training_mode(context, *scope);
  }
}

}  // namespace

void register_lints(RuleRegistry& registry) { registry.add(Stage::inferred, check_lints); }

}  // namespace onnxkit::checker
