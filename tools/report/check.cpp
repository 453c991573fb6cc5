#include "tools/report/check.h"

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
}

std::string check_text(const FileReport& report, bool color) {
  if (report.unreadable) return diagnostic_text(*report.unreadable, color);
  std::string text;
  for (const Fix& fix : report.fixes) text += fix_text(fix, color);
  for (const Diagnostic& finding : report.findings.diagnostics) text += diagnostic_text(finding, color);
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
  add(totals.fixes, std::to_string(totals.fixes) + " fixed");
  add(totals.dropped, std::to_string(totals.dropped) + " more of the same codes not shown");
  return counted(totals.files, "file") + ": " + parts;
}

std::string check_json(std::span<const FileReport> reports, const CheckTotals& totals, Outcome outcome) {
  Json files = Json::array();
  for (const FileReport& report : reports) {
    Json findings = Json::array();
    if (report.unreadable) findings.push_back(diagnostic_json(*report.unreadable));
    for (const Diagnostic& finding : report.findings.diagnostics) findings.push_back(diagnostic_json(finding));
    Json fixed = Json::array();
    for (const Fix& fix : report.fixes)
      fixed.push_back({{"code", fix.code}, {"place", location_json(fix.location)}, {"done", fix.done}});
    files.push_back({{"path", report.path},
                     {"readable", !report.unreadable},
                     {"errors", report.findings.errors},
                     {"warnings", report.findings.warnings},
                     {"infos", report.findings.infos},
                     {"suppressed", report.findings.suppressed},
                     {"not_shown", report.findings.dropped},
                     {"fixed", std::move(fixed)},
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
                      {"not_shown", totals.dropped}}},
                    {"exit_status", static_cast<int>(outcome)}});
}

}  // namespace onnxkit::tools
