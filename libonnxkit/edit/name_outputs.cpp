#include "libonnxkit/edit/name_outputs.h"

#include <algorithm>
#include <vector>

#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::edit {
namespace {

using ir::ValueId;

/// By a body of a node, which knows it by its name.
bool is_captured(const ir::Graph& graph, const ir::Uses& uses, ValueId id) {
  const auto consumers = uses.consumers(id);
  return std::any_of(consumers.begin(), consumers.end(), [&](std::uint32_t at) {
    const auto captured = ir::captured_values(graph, graph.nodes[at]);
    return std::find(captured.begin(), captured.end(), id) != captured.end();
  });
}

bool is_annotated(const ir::Graph& graph, ValueId id) {
  return std::any_of(graph.quantization_annotations.begin(), graph.quantization_annotations.end(),
                     [&](const ir::TensorAnnotation& annotation) { return graph.find(annotation.tensor_name) == id; });
}

}  // namespace

void name_outputs(ir::Graph& graph) {
  const ir::Uses uses(graph);
  std::vector<ValueId> now(graph.values.size());
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = static_cast<ValueId>(i);
  std::vector<bool> is_gone(graph.nodes.size());
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    const ir::Node& node = graph.nodes[at];
    if (node.op_type != "Identity" || !ir::canonical_domain(node.domain).empty()) continue;
    if (node.inputs.size() != 1 || node.outputs.size() != 1 || !uses.is_output(node.outputs[0])) continue;
    const ValueId between = node.inputs[0];
    if (uses.producer(between) < 0 || uses.is_output(between) || now[ir::index_of(between)] != between) continue;
    if (is_captured(graph, uses, between) || is_annotated(graph, between)) continue;
    now[ir::index_of(between)] = node.outputs[0];
    is_gone[at] = true;
  }
  std::size_t at = 0;
  std::erase_if(graph.nodes, [&](const ir::Node&) { return is_gone[at++]; });
  for (ir::Node& node : graph.nodes) {
    for (auto* ids : {&node.inputs, &node.outputs})
      for (ValueId& id : *ids)
        if (id != ValueId::none) id = now[ir::index_of(id)];
  }
}

}  // namespace onnxkit::edit
