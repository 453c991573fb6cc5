#include "libonnxkit/ir/rename.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "libonnxkit/ir/order.h"

namespace onnxkit::ir {
namespace {

/// A graph, and what of it is to be renamed.
using Change = std::pair<Graph*, Renames>;

void collect(Graph& graph, const Renames& names, std::vector<Change>& changes) {
  changes.emplace_back(&graph, names);
  for (Node& node : graph.nodes) {
    for_each_subgraph(node, [&](Graph& inner, std::size_t) {
      Renames seen = names;
      std::erase_if(seen, [&](const auto& entry) {
        const ValueId id = inner.find(entry.first);
        return id != ValueId::none && defines(inner, id);
      });
      if (!seen.empty()) collect(inner, seen, changes);
    });
  }
}

void rename_in(Graph& graph, const Renames& names) {
  const auto change = [&](Text& name) {
    if (const auto found = names.find(name.view()); found != names.end()) name = found->second;
  };
  for (Tensor& tensor : graph.initializers) change(tensor.name);
  for (SparseTensor& sparse : graph.sparse_initializers) {
    if (sparse.values) change(sparse.values->name);
  }
  for (TensorAnnotation& annotation : graph.quantization_annotations) {
    change(annotation.tensor_name);
    for (StringEntry& parameter : annotation.quant_parameter_tensor_names) change(parameter.value);
  }
  for (const auto& [from, to] : names) graph.rename(graph.find(from), to);
}

}  // namespace

bool defines(const Graph& graph, ValueId id) {
  const auto is_it = [&](const ValueInfo& info) { return info.value == id; };
  const auto writes_it = [&](const Node& node) { return std::ranges::find(node.outputs, id) != node.outputs.end(); };
  const auto holds_it = [&](const Tensor& tensor) { return tensor.name.view() == graph.name_of(id); };
  return std::ranges::any_of(graph.inputs, is_it) || std::ranges::any_of(graph.nodes, writes_it) ||
         std::ranges::any_of(graph.initializers, holds_it) ||
         std::ranges::any_of(graph.sparse_initializers,
                             [&](const SparseTensor& sparse) { return sparse.values && holds_it(*sparse.values); });
}

bool rename_values(Graph& graph, const Renames& names) {
  std::unordered_set<std::string_view> fresh;
  for (const auto& [from, to] : names) {
    if (!fresh.insert(to.view()).second) return false;
  }
  std::vector<Change> changes;
  collect(graph, names, changes);
  for (const Change& change : changes) {
    const auto is_taken = [&](const auto& entry) { return change.first->find(entry.second) != ValueId::none; };
    if (std::ranges::any_of(change.second, is_taken)) return false;
  }
  for (const auto& [changed, some] : changes) rename_in(*changed, some);
  return true;
}

bool rename_value(Graph& graph, ValueId id, Text name) {
  const std::string old(graph.name_of(id));  // outlives the name that goes
  return rename_values(graph, {{old, name}});
}

}  // namespace onnxkit::ir
