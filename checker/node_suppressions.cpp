#include "checker/node_suppressions.h"

#include <fnmatch.h>

#include <algorithm>

#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {
namespace {

constexpr std::string_view metadata_key = "onnxkit.suppress";

bool matches(const std::string& pattern, std::string_view name) {
  return name == pattern || ::fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
}

/// A node is known by its name, or without one by its outputs.
bool is_meant(const NodeSuppression& given, const ir::Graph& graph, const ir::Node& node) {
  if (!node.name.empty()) return matches(given.node, node.name);
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId output) {
    return output != ir::ValueId::none && matches(given.node, graph.name_of(output));
  });
}

void add_words(std::string_view list, std::set<std::string, std::less<>>& words) {
  constexpr std::string_view separators = ", \t\r\n";
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(separators), list.size()));
    if (list.empty()) return;
    const std::size_t end = std::min(list.find_first_of(separators), list.size());
    words.emplace(list.substr(0, end));
    list.remove_prefix(end);
  }
}

bool has(const std::set<std::string, std::less<>>& codes, const std::string& code) {
  return codes.contains(code) || codes.contains("*");
}

}  // namespace

NodeSuppressions::NodeSuppressions(const ir::Model& model, const std::vector<NodeSuppression>& given) {
  for (const auto& scope : ir::graph_scopes(model)) {
    const ir::Graph& graph = *scope->graph;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const ir::Node& node = graph.nodes[n];
      Codes codes;
      for (const ir::StringEntry& entry : node.metadata_props) {
        if (entry.key.view() == metadata_key) add_words(entry.value.view(), codes.in_model);
      }
      for (const NodeSuppression& one : given) {
        if (is_meant(one, graph, node)) codes.given.insert(one.code);
      }
      if (!codes.in_model.empty() || !codes.given.empty())
        nodes_.try_emplace({ir::path_text(scope->path), n}, std::move(codes));
    }
  }
}

std::optional<SuppressedFinding::By> NodeSuppressions::by(const Diagnostic& finding) const {
  if (!finding.location.node) return std::nullopt;
  const auto found =
      nodes_.find({ir::path_text(finding.location.scope), static_cast<std::size_t>(*finding.location.node)});
  if (found == nodes_.end()) return std::nullopt;
  if (has(found->second.in_model, finding.code)) return SuppressedFinding::By::model;
  if (has(found->second.given, finding.code)) return SuppressedFinding::By::options;
  return std::nullopt;
}

}  // namespace onnxkit::checker
