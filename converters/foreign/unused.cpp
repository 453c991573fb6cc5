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

}  // namespace

void remove_unused(Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  for (const Output& output : graph.outputs)
    if (output.value != ValueId::none) used[index_of(output.value)] = true;
  std::vector<Node> kept;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    const bool is_used = std::any_of(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId id) { return id != ValueId::none && used[index_of(id)]; });
    if (!is_used) continue;
    for (const Argument& argument : node.arguments) mark(argument, used);
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  std::erase_if(graph.tensors, [&](const Tensor& tensor) { return !used[index_of(tensor.value)]; });
}

}  // namespace onnxkit::foreign
