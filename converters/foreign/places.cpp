#include "converters/foreign/places.h"

namespace onnxkit::foreign {

NodePlaces::NodePlaces(const ir::Model& model) {
  for (std::size_t n = 0; model.graph && n < model.graph->nodes.size(); ++n) {
    const ir::Node& node = model.graph->nodes[n];
    if (const auto name = node.name.view(); !name.empty()) by_name_.emplace(name, n);
    for (const ir::ValueId output : node.outputs)
      if (output != ir::ValueId::none) by_output_.emplace(model.graph->name_of(output), n);
  }
}

std::optional<std::size_t> NodePlaces::of(const ir::Graph& graph, const ir::Node& node) const {
  if (const auto named = by_name_.find(std::string(node.name.view())); named != by_name_.end()) return named->second;
  for (const ir::ValueId output : node.outputs) {
    if (output == ir::ValueId::none) continue;
    if (const auto known = by_output_.find(std::string(graph.name_of(output))); known != by_output_.end())
      return known->second;
  }
  return std::nullopt;
}

}  // namespace onnxkit::foreign
