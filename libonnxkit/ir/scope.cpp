#include "libonnxkit/ir/scope.h"

#include <fmt/format.h>

#include "libonnxkit/ir/order.h"

namespace onnxkit::ir {
namespace {

using Scopes = std::vector<std::unique_ptr<GraphScope>>;

void add_scope(Scopes& scopes, GraphScope scope) {
  scopes.push_back(std::make_unique<GraphScope>(std::move(scope)));
  const GraphScope& own = *scopes.back();
  for (std::size_t node = 0; node < own.graph->nodes.size(); ++node) {
    for_each_subgraph(own.graph->nodes[node], [&](const Graph& inner, std::size_t attribute) {
      GraphScope child{.graph = &inner,
                       .parent = &own,
                       .parent_node = node,
                       .function = own.function,
                       .opsets = own.opsets,
                       .path = own.path,
                       .is_training = own.is_training};
      child.path.push_back(fmt::format("node {}", node));
      child.path.emplace_back(own.graph->nodes[node].attributes[attribute].name.view());
      add_scope(scopes, std::move(child));
    });
  }
}

void add_graphs(std::vector<Graph*>& graphs, Graph& graph) {
  graphs.push_back(&graph);
  for (Node& node : graph.nodes) {
    for_each_subgraph(node, [&](Graph& inner, std::size_t) { add_graphs(graphs, inner); });
  }
}

}  // namespace

std::string_view canonical_domain(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

std::optional<std::int64_t> opset_of(std::span<const OpsetImport> imports, std::string_view domain) {
  for (const OpsetImport& import : imports) {
    if (canonical_domain(import.domain) == canonical_domain(domain)) return import.version;
  }
  return std::nullopt;
}

std::string path_text(std::span<const std::string> path) { return fmt::format("{}", fmt::join(path, " / ")); }

std::string function_step(const Function& function) {
  std::string step = "function ";  // made for each of many functions: cheaper than a format
  step += function.domain.view();
  if (!function.domain.empty()) step += "::";
  return step += function.name.view();
}

std::string qualified_op(const Node& node) {
  const std::string_view domain = canonical_domain(node.domain);
  return domain.empty() ? std::string(node.op_type) : fmt::format("{}::{}", domain, node.op_type.view());
}

ValueId first_output(const Node& node) {
  for (const ValueId output : node.outputs)
    if (output != ValueId::none) return output;
  return ValueId::none;
}

std::string_view title_of(const Graph& graph, const Node& node) {
  return node.name.empty() ? graph.name_of(first_output(node)) : node.name.view();
}

Scopes graph_scopes(const Model& model) {
  Scopes scopes;
  const auto add_outermost = [&](const Graph* graph, std::string name, bool training) {
    if (!graph) return;
    add_scope(scopes, {.graph = graph,
                       .parent = nullptr,
                       .parent_node = 0,
                       .function = nullptr,
                       .opsets = model.opset_imports,
                       .path = {std::move(name)},
                       .is_training = training});
  };
  add_outermost(model.graph.get(), "main", false);
  scopes.reserve(scopes.size() + model.functions.size());
  for (const Function& function : model.functions) {
    std::vector<std::string> path;
    path.push_back(function_step(function));
    add_scope(scopes, {.graph = &function.body,
                       .parent = nullptr,
                       .parent_node = 0,
                       .function = &function,
                       .opsets = function.opset_imports,
                       .path = std::move(path),
                       .is_training = false});
  }
  for (std::size_t i = 0; i < model.training_infos.size(); ++i) {
    add_outermost(model.training_infos[i].initialization.get(), fmt::format("training_info {} initialization", i),
                  true);
    add_outermost(model.training_infos[i].algorithm.get(), fmt::format("training_info {} algorithm", i), true);
  }
  return scopes;
}

std::vector<Graph*> mutable_graphs(Model& model) {
  std::vector<Graph*> graphs;
  if (model.graph) add_graphs(graphs, *model.graph);
  for (Function& function : model.functions) add_graphs(graphs, function.body);
  for (TrainingInfo& training : model.training_infos) {
    if (training.initialization) add_graphs(graphs, *training.initialization);
    if (training.algorithm) add_graphs(graphs, *training.algorithm);
  }
  return graphs;
}

Location location_of_node(std::vector<std::string> path, const Graph& graph, std::size_t node) {
  Location location;
  location.scope = std::move(path);
  location.node = node;
  location.node_name = graph.nodes[node].name;
  location.op = qualified_op(graph.nodes[node]);
  return location;
}

}  // namespace onnxkit::ir
