#include "libonnxkit/api/diff/model_facts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "checker/rule_registry.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::api {
namespace {

bool is_quantizing(std::string_view op) {
  return op == "QuantizeLinear" || op == "DequantizeLinear" || op == "DynamicQuantizeLinear" ||
         op.starts_with("QLinear") || op.ends_with("Integer");
}

void add_type(std::optional<std::int64_t> type, std::set<Profile>& profiles) {
  if (type == static_cast<std::int64_t>(ElementType::float16)) profiles.insert(Profile::float16);
  if (type == static_cast<std::int64_t>(ElementType::bfloat16)) profiles.insert(Profile::bfloat16);
}

void add_graph(const ir::Graph& graph, std::set<Profile>& profiles) {
  for (const ir::Tensor& tensor : graph.initializers) add_type(tensor.data_type, profiles);
  for (const auto* infos : {&graph.inputs, &graph.outputs}) {
    for (const ir::ValueInfo& info : *infos) {
      if (info.type) add_type(info.type->elem_type, profiles);
    }
  }
  for (const ir::Node& node : graph.nodes) {
    if (is_quantizing(node.op_type.view())) profiles.insert(Profile::int8);
    const ir::Attribute* constant = node.op_type == "Constant" ? node.find_attribute("value") : nullptr;
    if (const ir::Tensor* tensor = constant ? constant->tensor() : nullptr) add_type(tensor->data_type, profiles);
  }
}

/// The random operator that a node is or has in its graphs.
std::optional<Draw> draw_of(const ir::Node& node) {
  constexpr std::array<std::string_view, 6> drawing = {"RandomNormal",      "RandomUniform", "RandomNormalLike",
                                                       "RandomUniformLike", "Bernoulli",     "Multinomial"};
  const std::string_view op = node.op_type.view();
  if (node.domain.view().empty() && std::find(drawing.begin(), drawing.end(), op) != drawing.end())
    return Draw{std::string(op), node.find_attribute("seed") != nullptr};
  std::optional<Draw> found;
  const auto look = [&](const ir::Graph& graph) {
    for (const ir::Node& inner : graph.nodes) {
      if (auto draw = draw_of(inner); draw && (!found || !draw->seeded)) found = std::move(draw);
    }
  };
  ir::for_each_subgraph(node, [&](const ir::Graph& graph, std::size_t) { look(graph); });
  return found;
}

}  // namespace

std::set<Profile> own_profiles(const ir::Model& model) {
  std::set<Profile> profiles;
  for (const auto& site : checker::graph_sites(model)) add_graph(*site->graph, profiles);
  return profiles;
}

std::map<std::string, Draw> random_outputs(const ir::Model& model) {
  const ir::Graph& graph = *model.graph;
  std::map<ir::ValueId, Draw> drawn;
  for (const std::size_t i : ir::evaluation_order(graph)) {
    const ir::Node& node = graph.nodes[i];
    std::optional<Draw> draw = draw_of(node);
    std::vector<ir::ValueId> read = ir::captured_values(graph, node);
    read.insert(read.end(), node.inputs.begin(), node.inputs.end());
    for (const ir::ValueId value : read) {
      const auto found = drawn.find(value);
      if (found != drawn.end() && (!draw || !found->second.seeded)) draw = found->second;
    }
    if (!draw) continue;
    for (const ir::ValueId value : node.outputs) drawn.emplace(value, *draw);
  }
  std::map<std::string, Draw> outputs;
  for (const ir::ValueInfo& output : graph.outputs) {
    if (const auto found = drawn.find(output.value); found != drawn.end())
      outputs.emplace(graph.name_of(output.value), found->second);
  }
  return outputs;
}

}  // namespace onnxkit::api
