#include "converters/foreign/unused.h"

#include <algorithm>
#include <vector>

namespace onnxkit::foreign {
namespace {

void mark(const Argument& argument, std::vector<bool>& used) {
  if (const ValueId* id = argument.as<ValueId>(); id && *id != ValueId::none) used[index_of(*id)] = true;
  if (const Argument::List* list = argument.as<Argument::List>())
    for (const Argument& item : *list) mark(item, used);
}

bool is_needed(const Node& node, const std::vector<bool>& used, bool (*keeps)(const Node& node)) {
  return (keeps && keeps(node)) || std::any_of(node.outputs.begin(), node.outputs.end(),
                                               [&](ValueId id) { return id != ValueId::none && used[index_of(id)]; });
}

}  // namespace

std::vector<bool> needed_values(const Graph& graph, bool (*keeps)(const Node& node)) {
  std::vector<bool> used(graph.values.size(), false);
  for (const Output& output : graph.outputs)
    if (output.value != ValueId::none) used[index_of(output.value)] = true;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
    if (is_needed(*node, used, keeps))
      for (const Argument& argument : node->arguments) mark(argument, used);
  return used;
}

void remove_unused(Graph& graph, bool (*keeps)(const Node& node)) {
  const std::vector<bool> used = needed_values(graph, keeps);
  std::erase_if(graph.nodes, [&](const Node& node) { return !is_needed(node, used, keeps); });
  std::erase_if(graph.tensors, [&](const Tensor& tensor) { return !used[index_of(tensor.value)]; });
}

}  // namespace onnxkit::foreign
