// Training: what a step updates is a weight, and what it is updated with is an output of the step.
#include <algorithm>

#include <fmt/core.h>

#include "checker/rule_registry.h"

namespace onnxkit::checker {
namespace {

bool has_initializer(const ir::Graph* graph, std::string_view name) {
  return graph && std::any_of(graph->initializers.begin(), graph->initializers.end(),
                              [&](const ir::Tensor& t) { return t.name.view() == name; });
}

bool has_output(const ir::Graph* graph, std::string_view name) {
  return graph && std::any_of(graph->outputs.begin(), graph->outputs.end(),
                              [&](const ir::ValueInfo& output) { return graph->name_of(output.value) == name; });
}

void check_bindings(RuleContext& context, std::size_t index, std::string_view kind,
                    const std::vector<ir::StringEntry>& bindings, const ir::Graph* step, const ir::Graph* algorithm) {
  for (const ir::StringEntry& binding : bindings) {
    const Location location = context.at_model(fmt::format("training_info {} {}", index, kind), binding.key);
    if (!has_initializer(context.model.graph.get(), binding.key) && !has_initializer(algorithm, binding.key)) {
      context.error("training-info", location, fmt::format("no initializer has the name {}", quote(binding.key)),
                    "the name of an initializer");
    }
    if (!has_output(step, binding.value)) {
      context.error("training-info", location, fmt::format("the graph has no output {}", quote(binding.value)),
                    "an output of the graph");
    }
  }
}

void check_training(RuleContext& context) {
  for (std::size_t i = 0; i < context.model.training_infos.size(); ++i) {
    const ir::TrainingInfo& info = context.model.training_infos[i];
    check_bindings(context, i, "initialization_binding", info.initialization_binding, info.initialization.get(),
                   info.algorithm.get());
    check_bindings(context, i, "update_binding", info.update_binding, info.algorithm.get(), info.algorithm.get());
  }
}

}  // namespace

void register_training(RuleRegistry& registry) { registry.add(Stage::structure, check_training); }

}  // namespace onnxkit::checker
