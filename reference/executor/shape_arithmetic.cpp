#include "reference/executor/shape_arithmetic.h"

#include "libonnxkit/ir/uses.h"

namespace onnxkit::reference {
namespace {

enum class Origin : std::uint8_t { data, constant, shape };

Origin origin_of(const ir::Node& node, SizeRole role, const std::vector<Origin>& known) {
  if (role == SizeRole::constant) return Origin::constant;
  if (role == SizeRole::source) return Origin::shape;
  if (role == SizeRole::none) return Origin::data;
  bool any_shape = false;
  for (const ir::ValueId input : node.inputs) {
    if (input == ir::ValueId::none) continue;
    const Origin origin = known[ir::index_of(input)];
    if (origin == Origin::data) return Origin::data;
    any_shape = any_shape || origin == Origin::shape;
  }
  return any_shape ? Origin::shape : Origin::data;
}

}  // namespace

std::vector<bool> shape_arithmetic(const ir::Graph& graph, std::span<const SizeRole> roles) {
  std::vector<Origin> known(graph.values.size(), Origin::data);
  const ir::InitializerTable stored(graph);
  for (std::size_t id = 0; id < known.size(); ++id) {
    if (stored.find(static_cast<ir::ValueId>(id))) known[id] = Origin::constant;
  }
  for (const ir::ValueInfo& input : graph.inputs) {
    if (input.value != ir::ValueId::none) known[ir::index_of(input.value)] = Origin::data;
  }
  std::vector<bool> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ir::Node& node = graph.nodes[i];
    const Origin origin = origin_of(node, roles[i], known);
    for (const ir::ValueId output : node.outputs) {
      if (output != ir::ValueId::none) known[ir::index_of(output)] = origin;
    }
    nodes.push_back(origin == Origin::shape);
  }
  return nodes;
}

}  // namespace onnxkit::reference
