#include "libonnxkit/api/diff/cut_model.h"

#include <algorithm>
#include <unordered_map>

#include "libonnxkit/ir/order.h"
#include "onnxkit/infer.h"

namespace onnxkit::api {
namespace {

using ir::index_of;
using ir::ValueId;

ir::ValueInfo declared(const ir::Graph& graph, ValueId id) {
  for (const auto* list : {&graph.value_infos, &graph.outputs, &graph.inputs}) {
    for (const ir::ValueInfo& info : *list) {
      if (info.value != id || !info.type) continue;
      ir::ValueInfo copy;
      copy.value = id;
      copy.type = info.type->clone();
      return copy;
    }
  }
  ir::ValueInfo unknown;
  unknown.value = id;
  return unknown;
}

void remove_value_infos(ir::Graph& graph) {
  std::erase_if(graph.value_infos, [&](const ir::ValueInfo& info) {
    const auto is_it = [&](const ir::ValueInfo& other) { return other.value == info.value; };
    return std::any_of(graph.inputs.begin(), graph.inputs.end(), is_it) ||
           std::any_of(graph.outputs.begin(), graph.outputs.end(), is_it);
  });
}

}  // namespace

std::vector<ValueId> reads_of(const ir::Graph& graph, const ir::Node& node) {
  std::vector<ValueId> all = node.inputs;
  const std::vector<ValueId> captured = ir::captured_values(graph, node);
  all.insert(all.end(), captured.begin(), captured.end());
  std::erase(all, ValueId::none);
  return all;
}

Result<Model> fresh_copy(const Model& model, const DiffOptions& options) {
  std::string bytes;
  SaveOptions save;
  save.format = FileFormat::binary;
  const auto take = [&bytes](std::string_view part) -> Result<void> {
    bytes += part;
    return {};
  };
  auto copy = [&]() -> Result<Model> {
    if (!model.path().empty() && std::filesystem::exists(model.path())) return read_model(model.path());
    if (auto written = write_model(model, take, save); !written) return written.error();
    return read_model_bytes(std::move(bytes), "model");
  }();
  if (!copy) return copy;
  InferOptions infer_options;
  infer_options.schemas = options.schemas;
  if (const auto inferred = infer(*copy, infer_options); !inferred) return inferred.error();
  return copy;
}

void set_outputs(ir::Model& model, std::span<const std::string> names) {
  ir::Graph& graph = *model.graph;
  const std::vector<std::int32_t> producers = ir::producers(graph);
  std::vector<ir::ValueInfo> outputs;
  for (const std::string& name : names) {
    const ValueId id = graph.find(name);
    if (id != ValueId::none && producers[index_of(id)] >= 0) outputs.push_back(declared(graph, id));
  }
  graph.outputs = std::move(outputs);
  remove_value_infos(graph);
}

std::vector<std::string> cut(ir::Model& model, const std::set<std::string, std::less<>>& known) {
  ir::Graph& graph = *model.graph;
  const std::vector<std::int32_t> producers = ir::producers(graph);
  std::vector<bool> keep(graph.nodes.size(), false), is_read(graph.values.size(), false);
  std::vector<std::size_t> open;
  const auto want = [&](ValueId id) {
    const std::int32_t producer = producers[index_of(id)];
    if (producer >= 0 && !keep[static_cast<std::size_t>(producer)]) {
      keep[static_cast<std::size_t>(producer)] = true;
      open.push_back(static_cast<std::size_t>(producer));
    }
  };
  for (const ir::ValueInfo& output : graph.outputs) want(output.value);
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    for (const ValueId id : reads_of(graph, graph.nodes[node])) {
      is_read[index_of(id)] = true;
      if (!known.contains(graph.name_of(id))) want(id);
    }
  }
  std::vector<ir::ValueInfo> inputs;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const bool was_input = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                       [&](const ir::ValueInfo& input) { return input.value == id; });
    const bool is_cut = producers[i] >= 0 && known.contains(graph.name_of(id));
    if (!is_read[i] || !(was_input || is_cut)) continue;
    if (is_cut) {
      // A node that is kept for another of its outputs writes this one, too.
      if (keep[static_cast<std::size_t>(producers[i])]) continue;
    }
    inputs.push_back(declared(graph, id));
    names.emplace_back(graph.name_of(id));
  }
  graph.inputs = std::move(inputs);
  std::vector<ir::Node> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (keep[i]) nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
  std::erase_if(graph.initializers, [&](const ir::Tensor& tensor) {
    const ValueId id = graph.find(tensor.name.view());
    return id != ValueId::none && !is_read[index_of(id)];
  });
  graph.value_infos.clear();
  return names;
}

}  // namespace onnxkit::api
