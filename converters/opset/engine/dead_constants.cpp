#include "converters/opset/engine/dead_constants.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/ir/uses.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {

void DeadConstants::may_be_unused(const Scope& scope, ValueId value) {
  if (value == ValueId::none) return;
  const std::string_view name = scope.graph->name_of(value);
  for (const Scope* at = &scope; at; at = at->parent) {
    const ValueId here = at == &scope ? value : at->graph->find(name);
    if (here == ValueId::none) continue;
    const auto [entry, is_new] = candidates_.try_emplace(at->graph);
    if (is_new) order_.push_back(at->graph);
    entry->second.insert(here);
  }
}

std::vector<std::string> DeadConstants::remove() {
  std::vector<std::string> removed;
  for (ir::Graph* graph : order_) remove_from(*graph, candidates_[graph], removed);
  return removed;
}

void DeadConstants::remove_from(ir::Graph& graph, const std::set<ValueId>& candidates,
                                std::vector<std::string>& removed) {
  const ir::Uses uses(graph);
  std::set<ValueId> inputs;
  for (const ir::ValueInfo& input : graph.inputs) inputs.insert(input.value);
  const auto goes = [&](ValueId id) {
    return id != ValueId::none && candidates.contains(id) && !uses.is_used(id) && !inputs.contains(id);
  };
  std::set<ValueId> gone;
  std::erase_if(graph.initializers, [&](const ir::Tensor& tensor) {
    const ValueId id = graph.find(tensor.name);
    if (!goes(id)) return false;
    removed.push_back(fmt::format("removed initializer {}: it is now unused", quote(tensor.name)));
    gone.insert(id);
    return true;
  });
  std::erase_if(graph.nodes, [&](const ir::Node& node) {
    if (node.op_type != "Constant" || !node.domain.empty() || node.outputs.size() != 1 || !goes(node.outputs[0]))
      return false;
    removed.push_back(fmt::format("removed Constant {}: it is now unused", quote(graph.name_of(node.outputs[0]))));
    gone.insert(node.outputs[0]);
    return true;
  });
  std::erase_if(graph.value_infos, [&](const ir::ValueInfo& info) { return gone.contains(info.value); });
  std::erase_if(graph.quantization_annotations, [&](const ir::TensorAnnotation& annotation) {
    return gone.contains(graph.find(annotation.tensor_name));
  });
}

}  // namespace onnxkit::opset
