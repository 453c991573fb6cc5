#include "tests/opset/pair.h"

#include <fmt/core.h>

#include <set>

#include "checker/check.h"
#include "checker/rule_registry.h"
#include "converters/opset/driver.h"
#include "converters/opset/facts.h"
#include "converters/opset/node_rules.h"
#include "libonnxkit/wire/external_data.h"
#include "reference/backend.h"
#include "tests/official/random_cases.h"

namespace onnxkit::opset_matrix {
namespace {

std::set<std::string> error_codes(const ir::Model& model, const spec::OpTable& table, const ir::ExternalBytes& external,
                                  std::string* first) {
  checker::Sink sink;
  checker::ModelCheckOptions options;
  options.inference.external_bytes = external;
  checker::check_model(model, table, options, sink);
  std::set<std::string> codes;
  for (const Diagnostic& finding : sink.diagnostics()) {
    if (finding.severity != Severity::error) continue;
    codes.insert(finding.code);
    if (first && first->empty())
      *first = fmt::format("{} at {} ({}): {} expected {} found {}", finding.code, finding.place.path(),
                           finding.place.op, finding.message, finding.expected, finding.found);
  }
  return codes;
}

Nature nature_of(const ir::Model& model, std::string_view domain, std::int64_t target, const spec::OpTable& table,
                 const ir::ExternalBytes& external) {
  Nature nature;
  opset::Facts facts(model, table, external);
  for (const auto& site : checker::graph_sites(model)) {
    const opset::Site at{const_cast<ir::Graph*>(site->graph), nullptr, {}};
    for (const ir::Node& node : site->graph->nodes) {
      if (spec::canonical_domain(node.domain) != spec::canonical_domain(domain)) continue;
      const spec::OpSchema* schema = table.find(domain, node.op_type, target);
      if (!schema || schema->deprecated) nature.operators_exist = false;
      for (const ir::ValueId output : node.outputs) (void)facts.type(at, output);
      if (opset::unfit(node, at, schema, target, facts)) nature.fits = false;
    }
  }
  return nature;
}

std::string tell(const Error& error) {
  return fmt::format("{} at {} ({}): {}", error.diagnostic.code, error.diagnostic.place.path(),
                     error.diagnostic.place.op, error.diagnostic.message);
}

/// What is wrong with the outputs; empty when nothing is.
std::string run(const Subject& subject, ir::Model& model, const spec::OpTable& table,
                const ir::ExternalBytes& external) {
  const auto session = reference::ReferenceBackend().prepare(model, table, {.external_bytes = external});
  if (!session) return tell(session.error());
  for (const official::DataSet& set : subject.sets) {
    if (subject.is_random) {
      const std::string fault = official::judge_random_case(subject.name, model, table, set.inputs, set.outputs.at(0));
      if (!fault.empty()) return fault;
      continue;
    }
    const auto outputs = (*session)->run(set.inputs, {});
    if (!outputs) return tell(outputs.error());
    for (std::size_t i = 0; i < outputs->size() && i < set.outputs.size(); ++i) {
      if (set.outputs[i].kind == ValueKind::none) continue;
      if (const auto differs = exec::difference(set.outputs[i], (*outputs)[i], subject.tolerance(set.outputs[i])))
        return fmt::format("output {}: {}", i, *differs);
    }
  }
  return {};
}

}  // namespace

std::int64_t imported(const ir::Model& model, std::string_view domain) { return model.opset_of(domain).value_or(0); }

PairResult judge(const Subject& subject, std::string_view domain, std::int64_t target, const spec::OpTable& table,
                 const std::function<void(const ir::Model&)>& keep) {
  PairResult result;
  auto model = subject.read();
  if (!model) return {Outcome::wrong, tell(model.error()), {}, {}};
  wire::ExternalData data(model->path);
  const ir::ExternalBytes external = [&data](const ir::Tensor& tensor) { return data.bytes(tensor); };
  result.nature = nature_of(*model, domain, target, table, external);
  const std::set<std::string> before = error_codes(*model, table, external, nullptr);
  const opset::Conversion conversion = opset::convert(*model, table, domain, target, external);
  if (!conversion.refusals.empty()) {
    result.outcome = Outcome::refused;
    for (const Diagnostic& refusal : conversion.refusals)
      result.blockers.push_back(fmt::format("{} [{}]", refusal.message, refusal.code));
    result.reason = result.blockers.front();
    return result;
  }
  std::string finding;
  const std::set<std::string> after = error_codes(*model, table, external, &finding);
  for (const std::string& code : after) {
    if (before.contains(code)) continue;
    result.outcome = Outcome::invalid;
    result.reason = finding;
    return result;
  }
  if (std::string fault = run(subject, *model, table, external); !fault.empty()) {
    result.outcome = Outcome::wrong;
    result.reason = std::move(fault);
    return result;
  }
  if (keep) keep(*model);
  return result;
}

}  // namespace onnxkit::opset_matrix
