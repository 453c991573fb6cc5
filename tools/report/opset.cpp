#include "tools/report/opset.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string domain_name(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string shown(const std::string& model) { return without_controls(model == "-" ? "<stdin>" : model); }

std::string node_text(const Place& place) {
  std::string text;
  for (const std::string& step : place.scope) text += (text.empty() ? "" : " / ") + step;
  if (place.node) text += fmt::format(" / node {} ({}", *place.node, place.op);
  if (place.node && !place.node_name.empty()) text += " " + quote(place.node_name);
  return without_controls(text + (place.node ? ")" : ""));
}

std::string imports_text(const OpsetReport& report) {
  std::string text;
  for (const OpsetImportChange& import : report.imports) {
    if (import.function.empty())
      text +=
          fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", domain_name(import.domain), import.from, import.to);
  }
  if (text.empty()) return report.succeeded() ? "nothing to do" : "cannot be converted";
  return without_controls(text);
}

std::size_t changed_nodes(const OpsetReport& report) {
  std::set<std::string> nodes;
  for (const OpsetChange& change : report.changes) {
    if (change.place.node) nodes.insert(node_text(change.place));
  }
  return nodes.size();
}

std::string verdict_text(const OpsetFile& file) {
  if (!file.verified) return "not verified";
  if (file.verified->verdict == Verdict::equal) return "equal on the reference";
  const std::string reason = without_controls(file.verified->reason);
  return (file.differs() ? "the results differ: " : "not verified: ") + reason;
}

constexpr std::string_view name_of(Verdict verdict) {
  return verdict == Verdict::equal ? "equal" : verdict == Verdict::different ? "different" : "unjudged";
}

Json version_json(const std::optional<std::int64_t>& version) { return version ? Json(*version) : Json(); }

Json file_json(const OpsetFile& file) {
  Json json = {{"model", file.model}, {"output", file.output.empty() ? Json() : Json(file.output)}};
  if (file.unreadable) {
    json["error"] = diagnostic_json(*file.unreadable);
    return json;
  }
  Json imports = Json::array(), changes = Json::array(), refusals = Json::array();
  for (const OpsetImportChange& import : file.report.imports)
    imports.push_back({{"domain", domain_name(import.domain)},
                       {"function", import.function.empty() ? Json() : Json(import.function)},
                       {"from", import.from},
                       {"to", import.to}});
  for (const OpsetChange& change : file.report.changes)
    changes.push_back({{"place", place_json(change.place)},
                       {"op", change.op},
                       {"from", change.from},
                       {"to", change.to},
                       {"what", change.what}});
  for (const Diagnostic& refusal : file.report.refusals) refusals.push_back(diagnostic_json(refusal));
  json["imports"] = std::move(imports);
  json["ir_version"] = {{"from", version_json(file.report.old_ir_version)},
                        {"to", version_json(file.report.new_ir_version)}};
  json["nodes"] = {{"all", file.report.nodes}, {"changed", changed_nodes(file.report)}};
  json["changes"] = std::move(changes);
  json["refusals"] = std::move(refusals);
  if (file.verified)
    json["verified"] = {{"verdict", name_of(file.verified->verdict)}, {"reason", file.verified->reason}};
  else
    json["verified"] = Json();
  return json;
}

}  // namespace

std::string opset_plan(const OpsetFile& file) {
  std::string text = fmt::format("{}: {}\n", shown(file.model), imports_text(file.report));
  for (const OpsetImportChange& import : file.report.imports) {
    if (!import.function.empty())
      text += fmt::format("  {}: {} {} -> {}\n", without_controls(import.function), domain_name(import.domain),
                          import.from, import.to);
  }
  std::string at;
  for (const OpsetChange& change : file.report.changes) {
    const std::string place = node_text(change.place);
    if (!change.place.node) {
      text += fmt::format("  {}\n", without_controls(change.what));
      continue;
    }
    if (place != at) text += fmt::format("  {}\n", place);
    at = place;
    text += fmt::format("    {:>2} -> {:<2}  {}: {}\n", change.from, change.to, without_controls(change.op),
                        without_controls(change.what));
  }
  return text;
}

std::string opset_obstacles(const OpsetFile& file, bool color) {
  constexpr std::size_t most = 100;
  const std::vector<Diagnostic>& refusals = file.report.refusals;
  std::string text;
  for (std::size_t i = 0; i < std::min(refusals.size(), most); ++i) {
    Diagnostic refusal = refusals[i];
    if (refusal.place.file.empty()) refusal.place.file = shown(file.model);
    text += diagnostic_text(refusal, color);
  }
  if (refusals.size() > most) text += fmt::format("... and {} more; --format json lists all\n", refusals.size() - most);
  return text;
}

std::string opset_summary(const OpsetFile& file, bool dry_run) {
  const OpsetReport& report = file.report;
  if (!report.succeeded())
    return fmt::format("{}: {}; {}", shown(file.model), counted(report.refusals.size(), "obstacle"),
                       dry_run ? "nothing would be written" : "nothing written");
  std::string text = fmt::format("{}: {}", shown(file.model), imports_text(report));
  if (!report.imports.empty()) text += fmt::format(", {} changed", counted(changed_nodes(report), "node"));
  if (report.old_ir_version != report.new_ir_version)
    text += fmt::format(", IR version {} -> {}", report.old_ir_version.value_or(0), report.new_ir_version.value_or(0));
  if (!report.imports.empty()) text += ", " + verdict_text(file);
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
