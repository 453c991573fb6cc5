#include "libonnxkit/ir/rename.h"

#include <algorithm>
#include <string>

#include "libonnxkit/ir/order.h"

namespace onnxkit::ir {
namespace {

void collect(Graph& graph, std::string_view name, std::vector<Graph*>& graphs) {
  graphs.push_back(&graph);
  for (Node& node : graph.nodes) {
    for_each_subgraph(node, [&](Graph& inner, std::size_t) {
      const ValueId id = inner.find(name);
      if (id == ValueId::none || !defines(inner, id)) collect(inner, name, graphs);
    });
  }
}

void rename_in(Graph& graph, std::string_view from, Text to) {
  const auto change = [&](Text& name) {
    if (name.view() == from) name = to;
  };
  for (Tensor& tensor : graph.initializers) change(tensor.name);
  for (SparseTensor& sparse : graph.sparse_initializers) {
    if (sparse.values) change(sparse.values->name);
  }
  for (TensorAnnotation& annotation : graph.quantization_annotations) {
    change(annotation.tensor_name);
    for (StringEntry& parameter : annotation.quant_parameter_tensor_names) change(parameter.value);
  }
  graph.rename(graph.find(from), to);
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

std::vector<Graph*> graphs_that_see(Graph& graph, std::string_view name) {
  std::vector<Graph*> graphs;
  collect(graph, name, graphs);
  return graphs;
}

bool rename_value(Graph& graph, ValueId id, Text name) {
  const std::string old(graph.name_of(id));  // outlives the name that goes
  const std::vector<Graph*> graphs = graphs_that_see(graph, old);
  if (std::ranges::any_of(graphs, [&](const Graph* one) { return one->find(name) != ValueId::none; })) return false;
  for (Graph* one : graphs) rename_in(*one, old, name);
  return true;
}

}  // namespace onnxkit::ir
