#include "tools/report/opset.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/report/diagnostics.h"
#include "tools/report/json.h"
#include "tools/report/verdict.h"

namespace onnxkit::tools {
namespace {

std::string domain_name(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string opset_node_text(const Location& location) {
  std::string text;
  for (const std::string& step : location.scope) text += (text.empty() ? "" : " / ") + step;
  if (location.node) text += fmt::format(" / node {} ({}", *location.node, location.op);
  if (location.node && !location.node_name.empty()) text += " " + quote(location.node_name);
  return without_controls(text + (location.node ? ")" : ""));
}

std::string imports_text(const OpsetReport& report) {
  std::string text;
  for (const OpsetImportChange& import : report.imports) {
    if (import.function.empty())
      text +=
          fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", domain_name(import.domain), import.from, import.to);
  }
  if (!text.empty()) return without_controls(text);
  if (!report.succeeded()) return "cannot be converted";
  if (!report.imports.empty())
    return without_controls(
        fmt::format("functions to {} {}", domain_name(report.imports.front().domain), report.imports.front().to));
  if (!report.changes.empty()) return "the opset stays, " + counted(report.changes.size(), "change");
  for (const std::string& domain : report.not_imported)
    text += fmt::format("{} {}", text.empty() ? ", because it does not import" : " or", domain);
  return without_controls("nothing to do" + text);
}

std::size_t changed_nodes(const OpsetReport& report) {
  std::set<std::string> nodes;
  for (const OpsetChange& change : report.changes) {
    if (change.location.node) nodes.insert(opset_node_text(change.location));
  }
  return nodes.size();
}

bool of_one_crossing(const OpsetChange& a, const OpsetChange& b) {
  return a.from == b.from && a.to == b.to && a.location.node.has_value() == b.location.node.has_value() &&
         opset_node_text(a.location) == opset_node_text(b.location);
}

std::string line_of(const OpsetChange& change) {
  const std::string what = without_controls(change.what);
  if (!change.location.node) return "  " + what;
  return fmt::format("    {:>2} -> {:<2}  {}: {}", change.from, change.to, without_controls(change.op), what);
}

/// Lines that read alike are one: nodes that a step wrote a node with often go on in the same way.
std::string crossing_text(std::span<const OpsetChange> changes) {
  std::vector<std::pair<std::string, std::size_t>> lines;
  std::map<std::string, std::size_t> position;
  for (const OpsetChange& change : changes) {
    const auto [at, is_new] = position.try_emplace(line_of(change), lines.size());
    if (is_new) lines.emplace_back(at->first, 0);
    ++lines[at->second].second;
  }
  std::string text;
  for (const auto& [line, count] : lines)
    text += line + (count > 1 ? fmt::format(" ({} times)\n", count) : std::string("\n"));
  return text;
}

std::string first_hundred(const OpsetFile& file, std::span<const Diagnostic> findings, bool color) {
  constexpr std::size_t most = 100;
  std::string text;
  for (std::size_t i = 0; i < std::min(findings.size(), most); ++i) {
    Diagnostic finding = findings[i];
    if (finding.location.file.empty()) finding.location.file = shown_path(file.model);
    text += diagnostic_text(finding, color);
  }
  if (findings.size() > most) text += fmt::format("... and {} more; --format json lists all\n", findings.size() - most);
  return text;
}

Json version_json(const std::optional<std::int64_t>& version) { return version ? Json(*version) : Json(); }

Json refusal_json(const OpsetRefusal& refusal) {
  Json json = diagnostic_json(refusal);
  if (!refusal.written_with.empty()) json["written_with"] = refusal.written_with;
  return json;
}

Json file_json(const OpsetFile& file) {
  Json json = {{"model", file.model}, {"output", file.output.empty() ? Json() : Json(file.output)}};
  if (file.unreadable) {
    json["error"] = diagnostic_json(file.unreadable->diagnostic);
    return json;
  }
  Json imports = Json::array(), changes = Json::array(), refusals = Json::array(), warnings = Json::array();
  for (const OpsetImportChange& import : file.report.imports)
    imports.push_back({{"domain", domain_name(import.domain)},
                       {"function", import.function.empty() ? Json() : Json(import.function)},
                       {"from", import.from},
                       {"to", import.to}});
  for (const OpsetChange& change : file.report.changes)
    changes.push_back({{"place", location_json(change.location)},
                       {"op", change.op},
                       {"from", change.from},
                       {"to", change.to},
                       {"what", change.what}});
  for (const OpsetRefusal& refusal : file.report.refusals) refusals.push_back(refusal_json(refusal));
  for (const Diagnostic& warning : file.report.warnings) warnings.push_back(diagnostic_json(warning));
  json["imports"] = std::move(imports);
  json["not_imported"] = file.report.not_imported;
  json["ir_version"] = {{"from", version_json(file.report.old_ir_version)},
                        {"to", version_json(file.report.new_ir_version)}};
  json["nodes"] = {{"all", file.report.nodes}, {"changed", changed_nodes(file.report)}};
  json["changes"] = std::move(changes);
  json["refusals"] = std::move(refusals);
  json["warnings"] = std::move(warnings);
  json["verified"] = verdict_json(file.verified);
  return json;
}

}  // namespace

std::string opset_plan(const OpsetFile& file) {
  std::string text = fmt::format("{}: {}\n", shown_path(file.model), imports_text(file.report));
  for (const OpsetImportChange& import : file.report.imports) {
    if (!import.function.empty())
      text += fmt::format("  {}: {} {} -> {}\n", without_controls(import.function),
                          without_controls(domain_name(import.domain)), import.from, import.to);
  }
  std::string at;
  const std::vector<OpsetChange>& changes = file.report.changes;
  for (auto change = changes.begin(); change != changes.end();) {
    const auto next =
        std::find_if(change, changes.end(), [&](const OpsetChange& other) { return !of_one_crossing(*change, other); });
    const std::string location = change->location.node ? opset_node_text(change->location) : at;
    if (location != at) text += fmt::format("  {}\n", location);
    at = location;
    text += crossing_text({change, next});
    change = next;
  }
  return text;
}

std::string opset_obstacles(const OpsetFile& file, bool color) {
  const std::vector<Diagnostic> refusals(file.report.refusals.begin(), file.report.refusals.end());
  return first_hundred(file, file.report.warnings, color) + first_hundred(file, refusals, color);
}

std::string opset_summary(const OpsetFile& file, bool dry_run) {
  const OpsetReport& report = file.report;
  if (!report.succeeded())
    return fmt::format("{}: {}; {}", shown_path(file.model), counted(report.refusals.size(), "obstacle"),
                       dry_run ? "nothing would be written" : "nothing written");
  std::string text = fmt::format("{}: {}", shown_path(file.model), imports_text(report));
  if (!report.imports.empty()) text += fmt::format(", {} changed", counted(changed_nodes(report), "node"));
  if (report.old_ir_version != report.new_ir_version)
    text += fmt::format(", IR version {} -> {}", report.old_ir_version.value_or(0), report.new_ir_version.value_or(0));
  if (!report.imports.empty()) text += ", " + verdict_text(file.verified);
  return text + (file.differs() && !dry_run ? "; nothing written" : "");
}

std::string opset_json(std::string_view command, std::span<const OpsetFile> files, bool dry_run) {
  Json list = Json::array();
  for (const OpsetFile& file : files) list.push_back(file_json(file));
  return json_text({{"format", "onnxkit-opset"},
                    {"format_version", 1},
                    {"command", command},
                    {"dry_run", dry_run},
                    {"files", std::move(list)}});
}

}  // namespace onnxkit::tools
