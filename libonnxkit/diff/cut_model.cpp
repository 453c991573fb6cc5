#include "libonnxkit/diff/cut_model.h"

#include <algorithm>

#include "checker/infer/annotate.h"
#include "libonnxkit/ir/extract.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "onnxkit/infer.h"

namespace onnxkit::diffing {
namespace {

using ir::index_of;
using ir::ValueId;
using Names = std::set<std::string, std::less<>>;

void remove_value_infos(ir::Graph& graph) {
  std::erase_if(graph.value_infos, [&](const ir::ValueInfo& info) {
    const auto is_it = [&](const ir::ValueInfo& other) { return other.value == info.value; };
    return std::any_of(graph.inputs.begin(), graph.inputs.end(), is_it) ||
           std::any_of(graph.outputs.begin(), graph.outputs.end(), is_it);
  });
}

std::vector<ValueId> ids_of(const ir::Graph& graph, const auto& names) {
  std::vector<ValueId> ids;
  for (const std::string& name : names) {
    if (const ValueId id = graph.find(name); id != ValueId::none) ids.push_back(id);
  }
  return ids;
}

}  // namespace

Result<Model> fresh_copy(const Model& model, const DiffOptions& options) {
  Model copy = model;
  InferOptions infer_options;
  infer_options.context = options.context;
  if (const auto inferred = checker::annotate(copy.ir(), infer_options); !inferred) return inferred.error();
  return copy;
}

void add_outputs(ir::Model& model, std::span<const std::string> names) {
  ir::Graph& graph = *model.graph;
  const std::vector<std::int32_t> producers = ir::producers(graph);
  for (const std::string& name : names) {
    const ValueId id = graph.find(name);
    if (id != ValueId::none && producers[index_of(id)] >= 0) graph.outputs.push_back(ir::declared_value(graph, id));
  }
  remove_value_infos(graph);
}

void set_outputs(ir::Model& model, std::span<const std::string> names) {
  std::vector<ir::ValueInfo>& outputs = model.graph->outputs;
  const auto before = static_cast<std::ptrdiff_t>(outputs.size());
  add_outputs(model, names);
  outputs.erase(outputs.begin(), outputs.begin() + before);
}

Way way_to(const ir::Graph& graph, std::span<const std::string> names, const Names& known) {
  const ir::Uses uses(graph);
  const ir::Part part = ir::part_between(graph, uses, ids_of(graph, known), ids_of(graph, names));
  Way way;
  way.nodes = part.nodes;
  for (const ValueId id : part.inputs) {
    if (part.reads[index_of(id)] && !uses.initializers().find(id)) way.from.emplace_back(graph.name_of(id));
  }
  for (const std::size_t node : part.nodes) {
    for (const ValueId id : graph.nodes[node].outputs) {
      if (id != ValueId::none) way.writes.emplace(graph.name_of(id));
    }
  }
  return way;
}

std::vector<std::string> cut(ir::Model& model, const Names& known) {
  const ir::Graph& graph = *model.graph;
  std::vector<ValueId> outputs;
  for (const ir::ValueInfo& output : graph.outputs) outputs.push_back(output.value);
  const ir::Part part = ir::part_between(graph, ir::Uses(graph), ids_of(graph, known), outputs);
  model = ir::extract(model, part, outputs);
  model.graph->value_infos.clear();
  std::vector<std::string> names;
  for (const ir::ValueInfo& input : model.graph->inputs) names.emplace_back(model.graph->name_of(input.value));
  return names;
}

std::vector<Location> locations_of(const ir::Graph& graph, const Way& way) {
  std::vector<Location> nodes;
  for (const std::size_t node : way.nodes) {
    if (graph.nodes[node].op_type != "Constant") nodes.push_back(ir::location_of_node({"main"}, graph, node));
  }
  return nodes;
}

}  // namespace onnxkit::diffing
