#include "libonnxkit/ir/order.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::ir {
namespace {

/// By value: a node reads it, or it is an output. A patch leaves names behind that nobody reads any more.
std::vector<bool> read_values(const Graph& graph) {
  std::vector<bool> is_read(graph.values.size(), false);
  const auto read = [&](ValueId id) {
    if (id != ValueId::none) is_read[index_of(id)] = true;
  };
  for (const Node& node : graph.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), read);
  for (const ValueInfo& output : graph.outputs) read(output.value);
  return is_read;
}

void collect_captures(const Graph& outer, const Graph& inner, std::vector<ValueId>& out) {
  const std::vector<bool> is_read = read_values(inner);
  for (std::size_t i = 0; i < is_read.size(); ++i) {
    const ValueId id = is_read[i] ? outer.find(inner.values[i].name) : ValueId::none;
    if (id != ValueId::none) out.push_back(id);
  }
  for (const Node& node : inner.nodes) {
    for_each_subgraph(node, [&](const Graph& graph, std::size_t) { collect_captures(outer, graph, out); });
  }
}

template <class Visit>
void for_each_dependency(const Graph& graph, const Node& node, const std::vector<std::int32_t>& producer,
                         Visit&& visit) {
  const auto depend_on = [&](ValueId id) {
    if (id != ValueId::none && producer[index_of(id)] >= 0) visit(static_cast<std::size_t>(producer[index_of(id)]));
  };
  for (const ValueId input : node.inputs) depend_on(input);
  for (const ValueId captured : captured_values(graph, node)) depend_on(captured);
}

}  // namespace

std::vector<std::int32_t> producers(const Graph& graph) {
  std::vector<std::int32_t> producer(graph.values.size(), -1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId output : graph.nodes[i].outputs) {
      if (output != ValueId::none && producer[index_of(output)] < 0)
        producer[index_of(output)] = static_cast<std::int32_t>(i);
    }
  }
  return producer;
}

std::vector<ValueId> captured_values(const Graph& graph, const Node& node) {
  std::vector<ValueId> out;
  for_each_subgraph(node, [&](const Graph& inner, std::size_t) { collect_captures(graph, inner, out); });
  return out;
}

std::vector<std::size_t> evaluation_order(const Graph& graph) { return evaluation_order(graph, producers(graph)); }

std::vector<std::size_t> evaluation_order(const Graph& graph, const std::vector<std::int32_t>& producer) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::uint32_t> waiting(count, 0);
  std::vector<std::vector<std::uint32_t>> readers;
  bool sorted = true;
  for (std::size_t i = 0; i < count && sorted; ++i) {
    for_each_dependency(graph, graph.nodes[i], producer, [&](std::size_t from) { sorted = sorted && from < i; });
  }
  if (sorted) return order;

  readers.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    for_each_dependency(graph, graph.nodes[i], producer, [&](std::size_t from) {
      readers[from].push_back(static_cast<std::uint32_t>(i));
      ++waiting[i];
    });
  }
  // Smallest index first, so that the order stays close to the file's.
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  order.clear();
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::uint32_t reader : readers[next]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  for (std::size_t i = 0; i < count && order.size() < count; ++i) {
    if (waiting[i] > 0) order.push_back(i);
  }
  return order;
}

namespace {

bool is_sorted(const Graph& graph) {
  const auto order = evaluation_order(graph);
  return std::is_sorted(order.begin(), order.end());
}

void sort_nodes(Graph& graph) {
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  for (const std::size_t node : evaluation_order(graph)) sorted.push_back(std::move(graph.nodes[node]));
  graph.nodes = std::move(sorted);
}

}  // namespace

std::shared_ptr<const Model> in_evaluation_order(std::shared_ptr<const Model> model) {
  const auto scopes = graph_scopes(*model);
  if (std::all_of(scopes.begin(), scopes.end(), [](const auto& scope) { return is_sorted(*scope->graph); }))
    return model;
  auto sorted = std::make_shared<Model>(clone(*model));
  for (Graph* graph : mutable_graphs(*sorted)) sort_nodes(*graph);
  return sorted;
}

}  // namespace onnxkit::ir
