#include "reference/executor/shape_arithmetic.h"

#include <algorithm>
#include <string_view>

#include "libonnxkit/ir/uses.h"

namespace onnxkit::reference {
namespace {

// Numbers that come out of other operators, as the positions of Range and their sines, are data.
constexpr std::string_view sources[] = {"Shape", "Size"};
constexpr std::string_view steps[] = {"Abs",     "Add",    "Cast",     "CastLike", "Ceil",    "Concat", "Div",
                                      "Floor",   "Gather", "Identity", "Max",      "Min",     "Mul",    "Neg",
                                      "Reshape", "Round",  "Slice",    "Split",    "Squeeze", "Sub",    "Unsqueeze"};

enum class Origin : std::uint8_t { data, constant, shape };

bool is_one_of(std::string_view op, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

Origin origin_of(const ir::Node& node, const std::vector<Origin>& known) {
  if (!node.domain.view().empty() && node.domain.view() != "ai.onnx") return Origin::data;
  const std::string_view op = node.op_type.view();
  if (op == "Constant") return Origin::constant;
  if (is_one_of(op, sources)) return Origin::shape;
  if (!is_one_of(op, steps)) return Origin::data;
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

std::vector<bool> shape_arithmetic(const ir::Graph& graph) {
  std::vector<Origin> known(graph.values.size(), Origin::data);
  const ir::InitializerTable stored(graph);
  for (std::size_t id = 0; id < known.size(); ++id) {
    if (stored.find(static_cast<ir::ValueId>(id))) known[id] = Origin::constant;
  }
  for (const ir::ValueInfo& input : graph.inputs) {
    if (input.value != ir::ValueId::none) known[ir::index_of(input.value)] = Origin::data;
  }
  std::vector<bool> nodes;
  for (const ir::Node& node : graph.nodes) {
    const Origin origin = origin_of(node, known);
    for (const ir::ValueId output : node.outputs) {
      if (output != ir::ValueId::none) known[ir::index_of(output)] = origin;
    }
    nodes.push_back(origin == Origin::shape);
  }
  return nodes;
}

}  // namespace onnxkit::reference
