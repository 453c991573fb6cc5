#include "tools/report/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/report/diagnostics.h"
#include "tools/report/json.h"

namespace onnxkit::tools {

void CheckTotals::add(const FileReport& report) {
  ++files;
  unreadable += report.unreadable ? 1 : 0;
  errors += report.findings.errors;
  warnings += report.findings.warnings;
  infos += report.findings.infos;
  suppressed += report.findings.suppressed;
  dropped += report.findings.dropped;
  fixes += report.fixes.size();
  known += report.known.size();
  for (const Diagnostic& finding : report.findings.diagnostics) ++codes[{finding.severity, finding.code}];
}

std::string check_text(const FileReport& report, bool color) {
  if (report.unreadable) return diagnostic_text(*report.unreadable, color);
  std::string text;
  for (const Fix& fix : report.fixes) text += fix_text(fix, color);
  for (const Diagnostic& finding : report.findings.diagnostics) text += diagnostic_text(finding, color);
  return text;
}

std::string check_statistics(const CheckTotals& totals) {
  using CodeCount = std::pair<std::pair<Severity, std::string>, std::size_t>;
  std::vector<CodeCount> rows(totals.codes.begin(), totals.codes.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CodeCount& a, const CodeCount& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [code, count] : rows)
    text += fmt::format("{:>6}  {:<7}  {}\n", count, to_string(code.first), code.second);
  return text;
}

std::string check_summary(const CheckTotals& totals) {
  std::string parts;
  const auto add = [&parts](std::size_t count, const std::string& text) {
    if (count > 0) parts += (parts.empty() ? "" : ", ") + text;
  };
  add(totals.unreadable, std::to_string(totals.unreadable) + " could not be read");
  add(totals.errors, counted(totals.errors, "error"));
  add(totals.warnings, counted(totals.warnings, "warning"));
  add(totals.infos, counted(totals.infos, "remark"));
  if (parts.empty()) parts = "no findings";
  add(totals.suppressed, std::to_string(totals.suppressed) + " suppressed");
  add(totals.known, std::to_string(totals.known) + " known from the baseline");
  add(totals.fixes, std::to_string(totals.fixes) + " fixed");
  add(totals.dropped, std::to_string(totals.dropped) + " more of the same codes not shown");
  return counted(totals.files, "file") + ": " + parts;
}

namespace {

Json codes_json(const CheckTotals& totals) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [code, count] : totals.codes) counts[code.second] += count;
  Json json = Json::object();
  for (const auto& [code, count] : counts) json[code] = count;
  return json;
}

}  // namespace

std::string check_json(std::span<const FileReport> reports, const CheckTotals& totals, Outcome outcome) {
  Json files = Json::array();
  for (const FileReport& report : reports) {
    Json findings = Json::array();
    if (report.unreadable) findings.push_back(diagnostic_json(*report.unreadable));
    for (const Diagnostic& finding : report.findings.diagnostics) findings.push_back(diagnostic_json(finding));
    files.push_back({{"path", report.path},
                     {"readable", !report.unreadable},
                     {"errors", report.findings.errors},
                     {"warnings", report.findings.warnings},
                     {"infos", report.findings.infos},
                     {"suppressed", report.findings.suppressed},
                     {"not_shown", report.findings.dropped},
                     {"known", report.known.size()},
                     {"fixed", fixes_json(report.fixes)},
                     {"findings", std::move(findings)}});
  }
  return json_text({{"format", "onnxkit-check"},
                    {"format_version", 1},
                    {"files", std::move(files)},
                    {"summary",
                     {{"files", totals.files},
                      {"unreadable", totals.unreadable},
                      {"errors", totals.errors},
                      {"warnings", totals.warnings},
                      {"infos", totals.infos},
                      {"suppressed", totals.suppressed},
                      {"not_shown", totals.dropped},
                      {"known", totals.known},
                      {"codes", codes_json(totals)}}},
                    {"exit_status", static_cast<int>(outcome)}});
}

}  // namespace onnxkit::tools
