#include "reference/executor/shape_arithmetic.h"

#include "libonnxkit/ir/uses.h"

namespace onnxkit::reference {
namespace {

Origin origin_of(const ir::Node& node, const OriginRole& role, const std::vector<Origin>& known) {
  if (role.sizes == SizeRole::constant) return Origin::constant;
  if (role.sizes == SizeRole::source) return Origin::shape;
  bool any_shape = false, any_input = false;
  for (const ir::ValueId input : node.inputs) {
    if (input == ir::ValueId::none) continue;
    const Origin origin = known[ir::index_of(input)];
    if (origin == Origin::data) return Origin::data;
    any_input = true;
    any_shape = any_shape || origin == Origin::shape;
  }
  if (any_shape) return role.sizes == SizeRole::step ? Origin::shape : Origin::data;
  return any_input && role.repeats ? Origin::constant : Origin::data;
}

/// Of weights that are inputs, too, a run may tell another value.
std::vector<Origin> stored_values(const ir::Graph& graph, bool inputs_are_data) {
  std::vector<Origin> known(graph.values.size(), Origin::data);
  const ir::InitializerTable stored(graph);
  for (std::size_t id = 0; id < known.size(); ++id) {
    if (stored.find(static_cast<ir::ValueId>(id))) known[id] = Origin::constant;
  }
  for (const ir::ValueInfo& input : graph.inputs) {
    if (inputs_are_data && input.value != ir::ValueId::none) known[ir::index_of(input.value)] = Origin::data;
  }
  return known;
}

/// By node; values are known behind them.
std::vector<Origin> follow(const ir::Graph& graph, std::span<const OriginRole> roles, std::vector<Origin>& known) {
  std::vector<Origin> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ir::Node& node = graph.nodes[i];
    const Origin origin = origin_of(node, roles[i], known);
    for (const ir::ValueId output : node.outputs) {
      if (output != ir::ValueId::none) known[ir::index_of(output)] = origin;
    }
    nodes.push_back(origin);
  }
  return nodes;
}

}  // namespace

std::vector<Origin> origins(const ir::Graph& graph, std::span<const OriginRole> roles) {
  std::vector<Origin> known = stored_values(graph, true);
  return follow(graph, roles, known);
}

std::vector<bool> second_input_may_be_constant(const ir::Graph& graph, std::span<const OriginRole> roles) {
  std::vector<Origin> known = stored_values(graph, false);
  follow(graph, roles, known);
  std::vector<bool> may_be;
  for (const ir::Node& node : graph.nodes) {
    const ir::ValueId second = node.inputs.size() > 1 ? node.inputs[1] : ir::ValueId::none;
    may_be.push_back(second != ir::ValueId::none && known[ir::index_of(second)] != Origin::data);
  }
  return may_be;
}

}  // namespace onnxkit::reference
