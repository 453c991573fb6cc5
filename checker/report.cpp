#include "checker/report.h"

#include <algorithm>

#include <fmt/core.h>

#include "checker/check.h"
#include "checker/codes.h"
#include "checker/node_suppressions.h"
#include "checker/old_import.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::checker {

namespace {

constexpr std::size_t most_suppressed_kept = 1000;

bool is_sound(const std::vector<Diagnostic>& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Diagnostic& finding) {
    return finding.severity == Severity::error && !finding.code.starts_with("target-");
  });
}

}  // namespace

Result<CheckReport> check(const ir::Model& model, const CheckOptions& options, const MoreFindings& more) {
  ModelCheckOptions model_check;
  for (const std::string& target : options.targets) {
    auto profile = load_target(target, options.context);
    if (!profile) return std::move(profile).error();
    model_check.targets.push_back(*std::move(profile));
  }
  wire::ExternalData external(
      model.path, {.allow_outside = options.allow_outside_data, .verify_checksums = options.verify_checksums});
  model_check.inspect_weights = options.inspect_weights;
  model_check.inference.dim_values = options.dims;
  model_check.inference.external_bytes = [&external](const ir::Tensor& tensor) { return external.bytes(tensor); };
  Collector collector({options.suppress.begin(), options.suppress.end()});
  CheckReport report;
  const NodeSuppressions suppressions(model, options.suppress_nodes);
  if (!suppressions.empty()) {
    collector.suppress_if([&](const Diagnostic& finding) {
      const auto by = suppressions.by(finding);
      if (by && report.suppressed_at_nodes.size() < most_suppressed_kept)
        report.suppressed_at_nodes.push_back({finding, *by});
      return by.has_value();
    });
  }
  const spec::OpTable& table = options.context.table();
  if (auto old = old_import(model, table)) {
    old->finding.notes.push_back(fmt::format("the rest is checked as of opset {}", old->fitting));
    collector.add(std::move(old->finding));
    ir::Model raised = ir::clone(model);
    raised.opset_imports[old->import].version = old->fitting;
    check_model(raised, table, model_check, collector);
  } else {
    check_model(model, table, model_check, collector);
  }

  if (more && is_sound(collector.diagnostics()))
    for (Diagnostic& finding : more()) collector.add(std::move(finding));

  report.suppressed = collector.suppressed_count();
  report.dropped = collector.dropped_count();
  report.diagnostics = collector.take();
  std::stable_sort(report.diagnostics.begin(), report.diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.severity < b.severity; });
  for (const Diagnostic& diagnostic : report.diagnostics) {
    (diagnostic.severity == Severity::error     ? report.errors
     : diagnostic.severity == Severity::warning ? report.warnings
                                                : report.infos) += 1;
  }
  return report;
}

std::vector<CodeExplanation> explain_codes() {
  std::vector<CodeExplanation> out;
  for (const EmbeddedText& page : embedded_codes()) {
    const std::string_view first_line = page.text.substr(0, page.text.find('\n'));
    const std::size_t colon = first_line.find(": ");
    out.push_back({.code = std::string(page.name),
                   .summary = std::string(colon == std::string_view::npos ? first_line : first_line.substr(colon + 2)),
                   .text = std::string(page.text)});
  }
  return out;
}

}  // namespace onnxkit::checker
