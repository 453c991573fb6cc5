#include "converters/opset/model/change_opset.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "checker/infer/inference.h"
#include "checker/old_import.h"
#include "converters/opset/engine/driver.h"
#include "converters/opset/model/ir_version.h"
#include "converters/opset/model/old_faults.h"
#include "converters/opset/model/result_sizes.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::opset {
namespace {

std::optional<Error> wrong_target(const std::string& domain, std::int64_t version) {
  const std::string name = domain.empty() ? "ai.onnx" : domain;
  const std::int32_t newest = spec::newest_opset(ir::canonical_domain(domain));
  if (!spec::is_official_domain(ir::canonical_domain(domain)) || newest == 0)
    return make_error("opset-range", fmt::format("{} is not a domain of the ONNX standard", quote(name)));
  if (version < 1 || version > newest)
    return make_error("opset-range", fmt::format("{} has opsets 1 to {} (onnx {}), not {}", name, newest,
                                                 spec::onnx_release(), version));
  return std::nullopt;
}

bool imports(const std::vector<ir::OpsetImport>& list, std::string_view domain) {
  return std::any_of(list.begin(), list.end(), [&](const ir::OpsetImport& import) {
    return ir::canonical_domain(import.domain) == ir::canonical_domain(domain);
  });
}

bool imports(const ir::Model& model, std::string_view domain) {
  return imports(model.opset_imports, domain) ||
         std::any_of(model.functions.begin(), model.functions.end(),
                     [&](const ir::Function& function) { return imports(function.opset_imports, domain); });
}

/// The model with the imports that it is to have, and its nodes as they are.
ir::Model taken_for(const ir::Model& model, const OpsetOptions& options) {
  ir::Model copy = ir::clone(model);
  const auto restate = [&](std::vector<ir::OpsetImport>& imports) {
    for (ir::OpsetImport& import : imports) {
      for (const auto& [domain, version] : options.opsets) {
        if (ir::canonical_domain(import.domain) == ir::canonical_domain(domain)) import.version = version;
      }
    }
  };
  restate(copy.opset_imports);
  for (ir::Function& function : copy.functions) restate(function.opset_imports);
  return copy;
}

bool only_upgrades(const ir::Model& model, const OpsetOptions& options) {
  return std::all_of(options.opsets.begin(), options.opsets.end(), [&](const auto& target) {
    return ir::opset_of(model.opset_imports, target.first).value_or(0) <= target.second;
  });
}

/// Before IR version 3 a model could not say its opset, which was 1.
void say_first_opset(ir::Model& model) {
  if (model.opset_imports.empty() && model.ir_version.value_or(0) < 3)
    model.opset_imports.push_back({.domain = Text(""), .version = 1, .unknown_fields = {}});
}

/// What is wrong with the result and was not with the model, or not to be seen.
Diagnostic new_fault(Diagnostic finding, const std::set<std::string>& believed) {
  finding.help.clear();
  if (believed.empty()) {
    finding.notes.push_back(
        "the original model does not have this fault: this is a bug of the conversion, please report it");
  } else {
    finding.message =
        fmt::format("the declared sizes of {} are impossible: {}", quote(*believed.begin()), finding.message);
  }
  return finding;
}

void add(OpsetReport& report, Conversion conversion) {
  for (ImportChange& import : conversion.imports)
    report.imports.push_back({std::move(import.domain), std::move(import.function), import.from, import.to});
  for (NodeChange& change : conversion.changes)
    report.changes.push_back(
        {std::move(change.location), std::move(change.op), change.from, change.to, std::move(change.what)});
  for (Refused& refused : conversion.refusals) {
    std::string written_with = std::move(refused.written_with);
    report.refusals.push_back({std::move(refused), std::move(written_with)});
  }
  report.nodes = conversion.nodes;
  report.compatible = conversion.compatible;
}

/// Whether the finding is about the declaration of an output whose sizes inference left open in the original: the result may tell more.
bool is_open_in(const ir::Model& original, const Diagnostic& finding, const spec::OpTable& table,
                const ir::ExternalBytes& external) {
  if (finding.code != "declared-shape" || finding.location.item != "output" || finding.location.scope.size() != 1)
    return false;
  checker::Collector collector;
  checker::InferenceOptions options;
  options.external_bytes = external;
  const checker::InferredModel inferred = checker::infer_types(original, table, options, collector);
  const checker::ValueInfo* info = inferred.find(*original.graph, original.graph->find(finding.location.item_name));
  return !info || !info->type.shape ||
         !std::all_of(info->type.shape->begin(), info->type.shape->end(),
                      [](ir::Dim dim) { return dim.is_constant(); });
}

/// Converts, and adds to the report what stands in the way.
void convert(ir::Model& model, const ir::Model& original, const spec::OpTable& table, const OpsetOptions& options,
             const ir::ExternalBytes& external, OldFaults& faults, OpsetReport& report) {
  Conversion conversion =
      opset::convert(model, table, options.opsets, external, options.align_corners == AlignCorners::scaled_length);
  const std::set<std::string> believed = std::move(conversion.believed);
  add(report, std::move(conversion));
  for (OpsetRefusal& refusal : faults.relied_on(report.changes, believed))
    report.refusals.push_back(std::move(refusal));
  if (auto refusal = set_ir_version(model, options.ir_version)) report.refusals.push_back({*std::move(refusal), {}});
  report.new_ir_version = model.ir_version;
  if (!report.succeeded()) return;
  for (Diagnostic& finding : errors_of(model, table, external)) {
    if (faults.take(finding)) continue;
    const bool is_open = believed.empty() && is_open_in(original, finding, table, external);
    const std::set<std::string> declared = is_open ? std::set{finding.location.item_name} : believed;
    report.refusals.push_back({new_fault(std::move(finding), declared), {}});
  }
}

}  // namespace

Result<ChangedModel> change_opset(const ir::Model& model, const OpsetOptions& options) {
  for (const auto& [domain, version] : options.opsets) {
    if (auto error = wrong_target(domain, version)) return *std::move(error);
  }
  if (!model.graph) return make_error("no-graph", "the model has no graph to convert");
  const spec::OpTable& table = options.context.table();
  ir::Model ir = ir::clone(model);
  wire::ExternalData data(ir.path, {.allow_outside = options.allow_outside_data, .verify_checksums = false});
  const ir::ExternalBytes external = [&data](const ir::Tensor& tensor) { return data.bytes(tensor); };

  OpsetReport report;
  std::optional<ir::Model> before;
  if (options.align_corners == AlignCorners::result_size) {
    for (const Location& location : use_result_sizes(ir, table, external)) {
      report.changes.push_back(
          {{},
           {},
           0,
           0,
           fmt::format("sizes in place of scales at {}: align_corners follows the size of the result",
                       location.path())});
    }
    if (!report.changes.empty()) before = ir::clone(ir);
  }
  OldFaults faults(errors_of(ir, table, external), ir);
  say_first_opset(ir);
  report.old_ir_version = report.new_ir_version = ir.ir_version;
  std::set<std::string> domains;
  for (const auto& [domain, version] : options.opsets) {
    if (imports(ir, domain))
      domains.emplace(ir::canonical_domain(domain));
    else
      report.not_imported.push_back(domain.empty() ? "ai.onnx" : domain);
  }
  if (faults.may_be_cured() && only_upgrades(ir, options))
    faults.note_cured(errors_of(taken_for(ir, options), table, external));
  report.refusals = faults.blocking(domains);
  if (auto old = report.succeeded() ? std::nullopt : checker::old_import(ir, table))
    report.refusals = {{std::move(old->finding), {}}};  // the cause of what the nodes lack
  if (report.succeeded()) convert(ir, model, table, options, external, faults, report);
  report.warnings = report.succeeded() ? faults.warnings_of_result() : faults.warnings();
  if (!report.succeeded()) return ChangedModel{std::move(report), std::nullopt, std::nullopt};
  return ChangedModel{std::move(report), std::move(ir), std::move(before)};
}

}  // namespace onnxkit::opset
