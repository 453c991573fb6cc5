#include "tools/actions/infer.h"

#include <algorithm>

#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

/// A recorded shape that the nodes contradict. Replacing those is what `infer` is for.
bool is_stale_entry(const Diagnostic& finding) {
  return finding.location.item == "value" && (finding.code == "declared-shape" || finding.code == "declared-type");
}

void label_findings(std::vector<Diagnostic>& findings, const std::string& model) {
  for (Diagnostic& finding : findings) {
    if (finding.location.file.empty()) finding.location.file = model == "-" ? standard_input_name : model;
    if (!is_stale_entry(finding)) continue;
    finding.severity = Severity::warning;
    finding.notes.push_back("the entry is replaced with the inferred type");
  }
}

}  // namespace

Result<InferReport> infer_model(Model& model, const std::string& path, const InferOptions& options) {
  auto report = infer(model, options);
  if (report) label_findings(report->diagnostics, path);
  return report;
}

bool is_sound(const InferReport& report) {
  return std::none_of(report.diagnostics.begin(), report.diagnostics.end(),
                      [](const Diagnostic& finding) { return finding.severity == Severity::error; });
}

}  // namespace onnxkit::tools
