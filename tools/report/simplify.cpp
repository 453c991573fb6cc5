#include "tools/report/simplify.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "tools/report/diagnostics.h"
#include "tools/report/table.h"
#include "tools/report/units.h"
#include "tools/report/verdict.h"

namespace onnxkit::tools {
namespace {

std::size_t total(const std::map<std::string, std::size_t>& operators) {
  return std::accumulate(operators.begin(), operators.end(), std::size_t{0},
                         [](std::size_t sum, const auto& entry) { return sum + entry.second; });
}

std::size_t count_of(const std::map<std::string, std::size_t>& operators, const std::string& op) {
  const auto known = operators.find(op);
  return known == operators.end() ? 0 : known->second;
}

std::set<std::string> changed_operators(const SimplifyReport& report) {
  std::set<std::string> names;
  for (const auto* counts : {&report.before, &report.after})
    for (const auto& [op, count] : *counts)
      if (count_of(report.before, op) != count_of(report.after, op)) names.insert(op);
  return names;
}

Json side_json(const std::map<std::string, std::size_t>& operators, std::uint64_t weights,
               const std::optional<std::int64_t>& ir_version) {
  Json counts = Json::object();
  for (const auto& [op, count] : operators) counts[op] = count;
  return {{"nodes", total(operators)},
          {"operators", std::move(counts)},
          {"weight_bytes", weights},
          {"ir_version", ir_version ? Json(*ir_version) : Json()}};
}

Json file_json(const SimplifiedFile& file) {
  Json json = {{"model", file.model}, {"output", file.output.empty() ? Json() : Json(file.output)}};
  if (const auto& error = file.unreadable ? file.unreadable : file.refused) {
    json[file.unreadable ? "error" : "refusal"] = diagnostic_json(error->diagnostic);
    return json;
  }
  const SimplifyReport& report = file.report;
  json["applied"] = report.applied;
  json["before"] = side_json(report.before, report.weights_before, report.old_ir_version);
  json["after"] = side_json(report.after, report.weights_after, report.new_ir_version);
  json["replaceable_defaults"] = report.replaceable;
  json["verified"] = verdict_json(file.verified);
  return json;
}

}  // namespace

std::string simplify_table(const SimplifiedFile& file) {
  Table table({"operator", ">before", ">after"});
  for (const std::string& op : changed_operators(file.report))
    table.add({without_controls(op), counted(std::uint64_t{count_of(file.report.before, op)}),
               counted(std::uint64_t{count_of(file.report.after, op)})});
  table.add(
      {"all", counted(std::uint64_t{total(file.report.before)}), counted(std::uint64_t{total(file.report.after)})});
  std::string text = shown_path(file.model) + "\n" + table.text(0, false);
  if (!file.report.applied.empty()) text += fmt::format("  by {}\n", fmt::join(file.report.applied, ", "));
  return text;
}

std::string simplify_summary(const SimplifiedFile& file, bool dry_run) {
  const SimplifyReport& report = file.report;
  const std::string unwritten = dry_run ? "" : "; nothing written";
  if (file.refused) return shown_path(file.model) + ": not simplified" + unwritten;
  std::string text =
      fmt::format("{}: {} -> {}", shown_path(file.model), counted(total(report.before), "node"), total(report.after));
  if (report.weights_before != report.weights_after)
    text += fmt::format(", weights {} -> {}", in_bytes(report.weights_before), in_bytes(report.weights_after));
  if (report.old_ir_version != report.new_ir_version)
    text += fmt::format(", IR version {} -> {}", report.old_ir_version.value_or(0), report.new_ir_version.value_or(0));
  if (report.replaceable > 0)
    text += fmt::format(", {} with a default (--fix-defaults makes constants of them)",
                        counted(report.replaceable, "input"));
  return text + ", " + verdict_text(file.verified) + (file.differs() ? unwritten : "");
}

std::string simplify_json(std::span<const SimplifiedFile> files, bool dry_run) {
  Json list = Json::array();
  for (const SimplifiedFile& file : files) list.push_back(file_json(file));
  return json_text(
      {{"format", "onnxkit-simplify"}, {"format_version", 1}, {"dry_run", dry_run}, {"files", std::move(list)}});
}

}  // namespace onnxkit::tools
