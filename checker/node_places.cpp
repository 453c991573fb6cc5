#include "checker/node_places.h"

#include <charconv>
#include <optional>

#include <fmt/core.h>

namespace onnxkit::checker {
namespace {

/// The number of the step "node 3".
std::optional<std::size_t> node_of_step(std::string_view step) {
  constexpr std::string_view start = "node ";
  if (!step.starts_with(start)) return std::nullopt;
  std::size_t number = 0;
  const auto [end, fault] = std::from_chars(step.data() + start.size(), step.data() + step.size(), number);
  return fault == std::errc() && end == step.data() + step.size() ? std::optional(number) : std::nullopt;
}

std::string output_names(const ir::Graph& graph, const ir::Node& node) {
  std::string text;
  for (const ir::ValueId output : node.outputs)
    text += (text.empty() ? "" : ", ") + (output == ir::ValueId::none ? "\"\"" : quote(graph.name_of(output)));
  return text.empty() ? "nothing" : text;
}

}  // namespace

NodePlaces::NodePlaces(const ir::Model& model) : scopes_(ir::graph_scopes(model)) {
  for (const auto& scope : scopes_) graphs_.try_emplace(ir::path_text(scope->path), scope->graph);
}

const ir::Graph* NodePlaces::graph_at(const std::string& path) const {
  const auto found = graphs_.find(path);
  return found == graphs_.end() ? nullptr : found->second;
}

std::string NodePlaces::node_text(const std::string& path, std::size_t number) const {
  const ir::Graph* graph = graph_at(path);
  if (!graph || number >= graph->nodes.size()) return fmt::format("node {}", number);
  const ir::Node& node = graph->nodes[number];
  const std::string op = ir::qualified_op(node);
  return node.name.empty() ? op + " of " + output_names(*graph, node) : op + " " + quote(node.name);
}

std::string NodePlaces::by_name(const Location& location) const {
  std::string text;
  const auto add = [&text](const std::string& step) { text += (text.empty() ? "" : " / ") + step; };
  std::vector<std::string> path;
  for (const std::string& step : location.scope) {
    const auto node = node_of_step(step);
    add(node ? node_text(ir::path_text(path), *node) : step);
    path.push_back(step);
  }
  if (location.node) add(node_text(ir::path_text(path), static_cast<std::size_t>(*location.node)));
  std::string item = location.item;
  if (!location.item_name.empty()) item += (item.empty() ? "" : " ") + quote(location.item_name);
  if (!item.empty()) add(item);
  return text;
}

}  // namespace onnxkit::checker
