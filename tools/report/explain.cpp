#include "tools/report/explain.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/report/diagnostics.h"
#include "tools/report/json.h"
#include "tools/report/table.h"

namespace onnxkit::tools {
namespace {

/// "Shape, 2 Gather, Concat": in their order, neighbours with one operator counted.
std::string operators_text(const NodeMapping& node) {
  if (!node.refusal.empty()) return "refused: " + without_controls(node.refusal);
  if (node.to.empty()) return "no node";
  std::string text;
  for (std::size_t i = 0; i < node.to.size();) {
    std::size_t next = i;
    while (next < node.to.size() && node.to[next].op == node.to[i].op) ++next;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", next - i > 1 ? fmt::format("{} ", next - i) : "",
                        without_controls(node.to[i].op));
    i = next;
  }
  return text;
}

}  // namespace

std::string mapping_table(std::span<const NodeMapping> nodes, const std::string& from, const std::string& to) {
  std::size_t made = 0, refused = 0;
  Table table({"NODE", "OF " + from, "IN " + to});
  for (const NodeMapping& node : nodes) {
    made += node.to.size();
    refused += !node.refusal.empty();
    table.add({without_controls(node.from.name), without_controls(node.from.op), operators_text(node)});
  }
  return fmt::format("{} of {}: {} of {}{}\n{}", counted(nodes.size(), "node"), from, made, to,
                     refused > 0 ? fmt::format(", {} refused", refused) : "", table.text(0, false));
}

Json mapping_json(std::span<const NodeMapping> nodes) {
  const auto node_json = [](const NodeMapping::Node& node) { return Json{{"op", node.op}, {"name", node.name}}; };
  Json list = Json::array();
  for (const NodeMapping& node : nodes) {
    Json to = Json::array();
    for (const NodeMapping::Node& one : node.to) to.push_back(node_json(one));
    Json json = {{"from", node_json(node.from)}, {"to", std::move(to)}};
    if (!node.refusal.empty()) json["refused"] = node.refusal;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace onnxkit::tools
