#include "libonnxkit/diff/cut_model.h"

#include <algorithm>
#include <unordered_map>

#include "checker/infer/annotate.h"
#include "libonnxkit/ir/order.h"
#include "onnxkit/infer.h"

namespace onnxkit::diffing {
namespace {

using ir::index_of;
using ir::ValueId;
using Names = std::set<std::string, std::less<>>;

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

/// What is kept of a graph: nodes, and by values whether these read it.
struct Kept {
  std::vector<bool> nodes, is_read;
};

Kept kept_for(const ir::Graph& graph, const std::vector<std::int32_t>& producers, std::span<const ValueId> outputs,
              const Names& known) {
  Kept kept{std::vector<bool>(graph.nodes.size(), false), std::vector<bool>(graph.values.size(), false)};
  std::vector<std::size_t> open;
  const auto want = [&](ValueId id) {
    const std::int32_t producer = producers[index_of(id)];
    if (producer >= 0 && !kept.nodes[static_cast<std::size_t>(producer)]) {
      kept.nodes[static_cast<std::size_t>(producer)] = true;
      open.push_back(static_cast<std::size_t>(producer));
    }
  };
  for (const ValueId id : outputs) want(id);
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    for (const ValueId id : reads_of(graph, graph.nodes[node])) {
      kept.is_read[index_of(id)] = true;
      if (!known.contains(graph.name_of(id))) want(id);
    }
  }
  return kept;
}

/// The inputs that the graph needs when it is cut down to what is kept.
std::vector<ValueId> inputs_of(const ir::Graph& graph, const std::vector<std::int32_t>& producers, const Kept& kept,
                               const Names& known) {
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (!kept.is_read[i]) continue;
    const auto id = static_cast<ValueId>(i);
    const bool was_input = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                       [&](const ir::ValueInfo& input) { return input.value == id; });
    // A node that is kept for another of its outputs writes this one, too.
    const bool is_cut =
        producers[i] >= 0 && known.contains(graph.name_of(id)) && !kept.nodes[static_cast<std::size_t>(producers[i])];
    if (was_input || is_cut) inputs.push_back(id);
  }
  return inputs;
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
  if (const auto inferred = checker::annotate(copy->ir(), infer_options); !inferred) return inferred.error();
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

Way way_to(const ir::Graph& graph, std::span<const std::string> names, const Names& known) {
  const std::vector<std::int32_t> producers = ir::producers(graph);
  std::vector<ValueId> outputs;
  for (const std::string& name : names) {
    if (const ValueId id = graph.find(name); id != ValueId::none) outputs.push_back(id);
  }
  const Kept kept = kept_for(graph, producers, outputs, known);
  Way way;
  Names defaults;
  for (const ir::Tensor& tensor : graph.initializers) defaults.emplace(tensor.name.view());
  for (const ValueId id : inputs_of(graph, producers, kept, known)) {
    if (const std::string_view name = graph.name_of(id); !defaults.contains(name)) way.from.emplace_back(name);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!kept.nodes[i]) continue;
    way.nodes.push_back(i);
    for (const ValueId id : graph.nodes[i].outputs) {
      if (id != ValueId::none) way.writes.emplace(graph.name_of(id));
    }
  }
  return way;
}

std::vector<std::string> cut(ir::Model& model, const Names& known) {
  ir::Graph& graph = *model.graph;
  const std::vector<std::int32_t> producers = ir::producers(graph);
  std::vector<ValueId> outputs;
  for (const ir::ValueInfo& output : graph.outputs) outputs.push_back(output.value);
  const Kept kept = kept_for(graph, producers, outputs, known);
  std::vector<ir::ValueInfo> inputs;
  std::vector<std::string> names;
  for (const ValueId id : inputs_of(graph, producers, kept, known)) {
    inputs.push_back(declared(graph, id));
    names.emplace_back(graph.name_of(id));
  }
  graph.inputs = std::move(inputs);
  std::vector<ir::Node> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (kept.nodes[i]) nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
  std::erase_if(graph.initializers, [&](const ir::Tensor& tensor) {
    const ValueId id = graph.find(tensor.name.view());
    return id != ValueId::none && !kept.is_read[index_of(id)];
  });
  graph.value_infos.clear();
  return names;
}

}  // namespace onnxkit::diffing
