#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "tools/report/diagnostics.h"
#include "tools/report/inspect/inspect.h"
#include "tools/report/json.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

/// Like places: how many, what they are, and the first of their names.
struct PlanRow {
  std::size_t count = 0;
  std::vector<std::string> cells;  ///< the last one as wide as it is
  std::vector<std::string> names = {};
};

class PlanRows {
 public:
  void add(std::vector<std::string> cells, const std::string& name) {
    const auto [known, is_new] = places_.try_emplace(cells, rows_.size());
    if (is_new) rows_.push_back({.count = 0, .cells = std::move(cells)});
    PlanRow& row = rows_[known->second];
    ++row.count;
    if (!name.empty()) row.names.push_back(name);
  }

  std::string text(const std::string& title) const {
    if (rows_.empty()) return {};
    std::size_t digits = 0, width = 0;
    for (const PlanRow& row : rows_) {
      digits = std::max(digits, std::to_string(row.count).size());
      if (row.cells.size() > 1) width = std::max(width, row.cells.front().size());
    }
    std::string text = fmt::format("  {}\n", title);
    for (const PlanRow& row : rows_) {
      text += fmt::format("    {:>{}}  ", row.count, digits);
      if (row.cells.size() > 1) text += fmt::format("{:<{}}  ", row.cells.front(), width);
      text += row.cells.back() + names_text(row) + "\n";
    }
    return text;
  }

 private:
  static std::string names_text(const PlanRow& row) {
    constexpr std::size_t most = 2;
    std::string text;
    for (std::size_t i = 0; i < std::min(row.names.size(), most); ++i)
      text += (i == 0 ? "  " : ", ") + quote(row.names[i], 60);
    if (row.names.size() > most) text += ", ...";
    return text;
  }

  std::vector<PlanRow> rows_;
  std::map<std::vector<std::string>, std::size_t> places_;
};

/// "Div + Erf + Add".
std::string ops_text(const std::vector<PlanNode>& nodes) {
  constexpr std::size_t most = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), most); ++i)
    text += (i == 0 ? "" : " + ") + without_controls(nodes[i].op);
  if (nodes.size() > most) text += fmt::format(" + {} more", nodes.size() - most);
  return text;
}

std::string part_text(const PlanPart& part) {
  PlanRows changes, misses, steps, views;
  for (const PlanChange& change : part.changes) {
    const std::string made = change.made.empty() ? "" : " -> " + without_controls(change.made);
    changes.add({change.pass, ops_text(change.nodes) + made}, change.nodes.back().name);
  }
  for (const PlanMiss& miss : part.misses)
    misses.add({miss.pass, without_controls(miss.node.op + ": " + miss.reason)}, miss.node.name);
  std::set<std::string_view> with_step;
  for (const PlanStep& step : part.steps) {
    for (const PlanNode& node : step.nodes) with_step.insert(node.name);
    std::string what = step.nodes.empty() ? "inputs, constants or outputs" : ops_text(step.nodes);
    if (!step.reason.empty()) what += ": " + without_controls(step.reason);
    if (!step.by.empty()) what += " (" + without_controls(step.by) + ")";
    steps.add({step.kind, what}, step.nodes.empty() ? "" : step.nodes.front().name);
  }
  const std::size_t nodes = with_step.size() + part.without_step.size();
  for (const PlanNode& node : part.without_step) views.add({without_controls(node.op)}, node.name);
  const bool is_whole = with_step.contains("");  // one step has all nodes
  const std::string count = is_whole ? "all nodes" : counted(nodes, "node") + " after the passes";
  std::string text = fmt::format("{}: {}, {}, {} of memory between them\n", without_controls(part.of), count,
                                 counted(part.steps.size(), "step"), in_bytes(part.arena_bytes));
  text += changes.text("changed by passes");
  text += misses.text("not fused");
  text += steps.text("steps");
  text += views.text("without a step: views and constants");
  for (std::size_t i = 0; i < part.open.size(); ++i)
    text += fmt::format("  {} {}\n", i == 0 ? "ends at" : "       ", quote(part.open[i]));
  return text;
}

Json to_json(const PlanNode& node) { return {{"name", node.name}, {"op", node.op}}; }

Json to_json(const std::vector<PlanNode>& nodes) {
  Json out = Json::array();
  for (const PlanNode& node : nodes) out.push_back(to_json(node));
  return out;
}

Json to_json(const PlanPart& part) {
  Json changes = Json::array(), misses = Json::array(), steps = Json::array();
  for (const PlanChange& change : part.changes)
    changes.push_back({{"pass", change.pass},
                       {"nodes", to_json(change.nodes)},
                       {"made", change.made.empty() ? Json(nullptr) : Json(change.made)}});
  for (const PlanMiss& miss : part.misses)
    misses.push_back({{"pass", miss.pass}, {"node", to_json(miss.node)}, {"reason", miss.reason}});
  for (const PlanStep& step : part.steps) {
    Json out = {{"kind", step.kind}, {"nodes", to_json(step.nodes)}};
    if (!step.by.empty()) out["by"] = step.by;
    if (!step.reason.empty()) out["reason"] = step.reason;
    steps.push_back(std::move(out));
  }
  return {{"of", part.of},
          {"changes", std::move(changes)},
          {"misses", std::move(misses)},
          {"steps", std::move(steps)},
          {"without_step", to_json(part.without_step)},
          {"arena_bytes", part.arena_bytes},
          {"open", part.open}};
}

}  // namespace

std::string plan_text(const std::string& model, const PlanSummary& summary) {
  std::string text = fmt::format("plan of {} on {}\n", shown_path(model), without_controls(summary.backend));
  for (const RunInput& input : summary.inputs) {
    if (input.origin != "initializer")
      text += fmt::format("  input        {}  {}\n", quote(input.name), type_text(input.value));
  }
  for (const PlanPart& part : summary.parts) text += part_text(part);
  return text;
}

std::string plan_json(const std::string& model, const PlanSummary& summary) {
  Json inputs = Json::array(), parts = Json::array();
  for (const RunInput& input : summary.inputs)
    inputs.push_back({{"name", input.name}, {"type", type_text(input.value)}, {"origin", input.origin}});
  for (const PlanPart& part : summary.parts) parts.push_back(to_json(part));
  return json_text({{"format", "onnxkit-plan"},
                    {"format_version", 1},
                    {"model", model},
                    {"backend", summary.backend},
                    {"inputs", std::move(inputs)},
                    {"parts", std::move(parts)}});
}

}  // namespace onnxkit::tools
