#include "reference/executor/constant_cache.h"

#include "libonnxkit/ir/uses.h"

namespace onnxkit::reference {

const Tensor* ConstantCache::find(const void* key) const {
  const auto found = tensors_.find(key);
  return found == tensors_.end() ? nullptr : &found->second;
}

void ConstantCache::keep(const void* key, const Tensor& tensor) {
  const std::uint64_t bytes = tensor.byte_count();
  if (tensor.domain() == Domain::string) return;  // whose text may be any size
  if (bytes > room_ || !tensors_.emplace(key, tensor).second) return;
  room_ -= bytes;
}

std::vector<bool> constant_nodes(const ir::Graph& graph, const exec::GraphPlan& plan) {
  using ir::index_of;
  std::vector<bool> known(graph.values.size(), false), nodes(graph.nodes.size(), false);
  const ir::InitializerTable stored(graph);
  for (const exec::GraphPlan::Step& step : plan.steps) {
    const ir::Node& node = graph.nodes[step.node];
    const bool is_onnx = node.domain.view().empty() || node.domain.view() == "ai.onnx";
    if (!is_onnx || node.outputs.size() != 1 || node.outputs[0] == ir::ValueId::none) continue;
    const bool is_filled = node.op_type.view() == "ConstantOfShape" && node.inputs.size() == 1 &&
                           node.inputs[0] != ir::ValueId::none &&
                           (known[index_of(node.inputs[0])] || stored.find(node.inputs[0]));
    if (node.op_type.view() != "Constant" && !is_filled) continue;
    nodes[step.node] = known[index_of(node.outputs[0])] = true;
  }
  return nodes;
}

}  // namespace onnxkit::reference
