#include "onnxkit/opset.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "checker/check.h"
#include "converters/opset/driver.h"
#include "libonnxkit/api/opset_ir_version.h"
#include "libonnxkit/api/options.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/wire/external_data.h"

namespace onnxkit {
namespace {

/// Findings of check that mean that a model is wrong.
std::vector<Diagnostic> errors_of(const ir::Model& model, const spec::OpTable& table,
                                  const ir::ExternalBytes& external) {
  checker::Sink sink;
  checker::ModelCheckOptions options;
  options.inference.external_bytes = external;
  checker::check_model(model, table, options, sink);
  std::vector<Diagnostic> errors = sink.take();
  std::erase_if(errors, [](const Diagnostic& finding) { return finding.severity != Severity::error; });
  return errors;
}

std::optional<Error> wrong_target(const ir::Model& model, const std::string& domain, std::int64_t version) {
  const std::string name = domain.empty() ? "ai.onnx" : domain;
  const std::int32_t newest = spec::newest_opset(spec::canonical_domain(domain));
  if (!spec::is_official_domain(spec::canonical_domain(domain)) || newest == 0)
    return make_error("opset-range", fmt::format("{} is no domain of the ONNX standard", quote(name)));
  if (version < 1 || version > newest)
    return make_error("opset-range", fmt::format("{} has opsets 1 to {} (onnx {}), not {}", name, newest,
                                                 spec::onnx_release(), version));
  const auto imports = [&](const std::vector<ir::OpsetImport>& list) {
    return std::any_of(list.begin(), list.end(), [&](const ir::OpsetImport& import) {
      return spec::canonical_domain(import.domain) == spec::canonical_domain(domain);
    });
  };
  const bool any = imports(model.opset_imports) ||
                   std::any_of(model.functions.begin(), model.functions.end(),
                               [&](const ir::Function& function) { return imports(function.opset_imports); });
  if (!any) return make_error("opset-import", fmt::format("the model does not import {}", name));
  return std::nullopt;
}

/// Before IR version 3 a model could not say its opset, which was 1.
void say_first_opset(ir::Model& model) {
  if (model.opset_imports.empty() && model.ir_version.value_or(0) < 3)
    model.opset_imports.push_back({.domain = Text(""), .version = 1, .unknown_fields = {}});
}

/// What is wrong with the result and was not with the model, or not to be seen.
Diagnostic new_fault(Diagnostic finding, const std::set<std::string>& believed) {
  if (believed.empty()) {
    finding.notes.push_back(
        "the model as it came does not have this fault: the conversion is at fault, please report it");
  } else {
    finding.message =
        fmt::format("the sizes that the model declares of {} cannot be: {}", quote(*believed.begin()), finding.message);
  }
  return finding;
}

void add(OpsetReport& report, opset::Conversion conversion) {
  for (opset::ImportChange& import : conversion.imports)
    report.imports.push_back({std::move(import.domain), std::move(import.function), import.from, import.to});
  for (opset::NodeChange& change : conversion.changes)
    report.changes.push_back(
        {std::move(change.place), std::move(change.op), change.from, change.to, std::move(change.what)});
  std::move(conversion.refusals.begin(), conversion.refusals.end(), std::back_inserter(report.refusals));
  report.nodes = std::max(report.nodes, conversion.nodes);
  report.compatible += conversion.compatible;
}

}  // namespace

Result<OpsetReport> change_opset(Model& model, const OpsetOptions& options) {
  ir::Model& ir = model.ir();
  if (!ir.graph) return make_error("no-graph", "the model has no graph to convert");
  const auto table = api::op_table(options.schemas);
  if (!table) return table.error();
  say_first_opset(ir);
  for (const auto& [domain, version] : options.opsets) {
    if (auto error = wrong_target(ir, domain, version)) return *std::move(error);
  }
  wire::ExternalData data(ir.path, {.allow_outside = options.allow_outside_data, .verify_checksums = false});
  const ir::ExternalBytes external = [&data](const ir::Tensor& tensor) { return data.bytes(tensor); };

  OpsetReport report;
  report.old_ir_version = ir.ir_version;
  std::set<std::string> known_faults;
  for (Diagnostic& finding : errors_of(ir, *table, external)) {
    known_faults.insert(finding.code);
    // A node that is provably wrong has no meaning to keep.
    if (finding.place.node) report.refusals.push_back(std::move(finding));
  }
  if (!report.succeeded()) return report;
  std::set<std::string> believed;
  for (const auto& [domain, version] : options.opsets) {
    opset::Conversion conversion = opset::convert(ir, *table, domain, version, external);
    believed.merge(conversion.believed);
    add(report, std::move(conversion));
  }
  if (auto refusal = api::set_ir_version(ir, options.ir_version)) report.refusals.push_back(*std::move(refusal));
  report.new_ir_version = ir.ir_version;
  if (!report.succeeded()) return report;
  for (Diagnostic& finding : errors_of(ir, *table, external)) {
    if (!known_faults.contains(finding.code)) report.refusals.push_back(new_fault(std::move(finding), believed));
  }
  return report;
}

}  // namespace onnxkit
