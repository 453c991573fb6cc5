// Nothing of this makes a model invalid: results that nobody reads, weights that nothing uses, switches left in training mode,
// positions that runtimes read in two ways.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/rule_registry.h"
#include "checker/two_readings.h"
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

/// A switch that is an input is constant in what exporters write.
bool trains(const InferredModel& inferred, const ir::Graph& graph, const ir::Node& node, TrainingSwitch by) {
  if (by.attribute) return is_one(node, by.attribute);
  if (by.input < 0 || node.inputs.size() <= static_cast<std::size_t>(by.input)) return false;
  const ValueInfo* info = inferred.find(graph, node.inputs[static_cast<std::size_t>(by.input)]);
  return info && info->value && info->value->elements.size() == 1 && info->value->elements.front().dim().is(1);
}

void check_training_mode(RuleContext& context, const ir::GraphScope& scope) {
  for (std::size_t n = 0; n < scope.graph->nodes.size(); ++n) {
    const ir::Node& node = scope.graph->nodes[n];
    const TrainingSwitch by = traits_of(node, scope.opsets, context.table).training;
    if (!trains(*context.inferred, *scope.graph, node, by)) continue;
    context.warning("training-mode", context.at(scope, n),
                    "the operator runs in training mode: its results vary or depend on the batch", {}, {},
                    "export the model in evaluation mode");
  }
}

void check_two_readings(RuleContext& context) {
  for (TwoReadings& found : two_readings(context.scopes, *context.inferred)) {
    const std::string_view when = found.is_certain ? "a length that is not whole" : "a length that need not be whole";
    std::string message = fmt::format(
        "align_corners with {} has two readings: by the scaled length (official cases, the reference) or by "
        "the size of the result (ONNX Runtime, PyTorch)",
        when);
    constexpr std::string_view help = "upgrade --align-corners result-size gives the node sizes, which all read alike";
    if (found.is_certain)
      context.warning("two-readings", std::move(found.location), std::move(message), {}, {}, std::string(help));
    else
      context.info("two-readings", std::move(found.location), std::move(message), {}, {}, std::string(help));
  }
}

void check_lints(RuleContext& context) {
  check_two_readings(context);
  for (const auto& scope : context.scopes) {
    if (scope->is_training) continue;
    check_unused(context, *scope);
    check_training_mode(context, *scope);
  }
}

}  // namespace

void register_lints(RuleRegistry& registry) { registry.add(Stage::inferred, check_lints); }

}  // namespace onnxkit::checker
