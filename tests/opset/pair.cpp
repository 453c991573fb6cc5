#include "tests/opset/pair.h"

#include <fmt/core.h>

#include <set>
#include <tuple>

#include "checker/check.h"
#include "converters/opset/engine/driver.h"
#include "converters/opset/engine/inferred_values.h"
#include "converters/opset/engine/node_rules.h"
#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "libonnxkit/wire/external/external_data.h"
#include "reference/executor/executor.h"
#include "tests/official/random_cases.h"

namespace onnxkit::opset_matrix {
namespace {

template <class Visit>
void for_each_error(const ir::Model& model, const spec::OpTable& table, const ir::ExternalBytes& external,
                    const Visit& visit) {
  checker::Collector collector;
  checker::ModelCheckOptions options;
  options.inference.external_bytes = external;
  checker::check_model(model, table, options, collector);
  for (const Diagnostic& finding : collector.diagnostics()) {
    if (finding.severity == Severity::error) visit(finding);
  }
}

std::set<std::string> error_codes(const ir::Model& model, const spec::OpTable& table,
                                  const ir::ExternalBytes& external) {
  std::set<std::string> codes;
  for_each_error(model, table, external, [&](const Diagnostic& finding) { codes.insert(finding.code); });
  return codes;
}

/// The first error of a kind that is not in `before`; empty when there is none.
std::string new_error(const ir::Model& model, const std::set<std::string>& before, const spec::OpTable& table,
                      const ir::ExternalBytes& external) {
  std::string first;
  for_each_error(model, table, external, [&](const Diagnostic& finding) {
    if (first.empty() && !before.contains(finding.code))
      first = fmt::format("{} at {} ({}): {} expected {} found {}", finding.code, finding.location.path(),
                          finding.location.op, finding.message, finding.expected, finding.found);
  });
  return first;
}

Nature nature_of(ir::Model& model, std::string_view domain, std::int64_t target, const spec::OpTable& table,
                 const ir::ExternalBytes& external) {
  Nature nature;
  opset::InferredValues info(model, table, external);
  for (ir::Graph* graph : ir::mutable_graphs(model)) {
    const opset::Scope at{graph, nullptr, {}};
    for (const ir::Node& node : graph->nodes) {
      if (ir::canonical_domain(node.domain) != ir::canonical_domain(domain)) continue;
      const spec::OpSchema* schema = table.find(domain, node.op_type, target);
      if (!schema || table.is_removed(*schema)) nature.operators_exist = false;
      for (const ir::ValueId output : node.outputs) (void)info.type(at, output);
      if (opset::unfit(node, at, schema, target, info)) nature.fits = false;
    }
  }
  return nature;
}

std::string tell(const Error& error) {
  return fmt::format("{} at {} ({}): {}", error.diagnostic.code, error.diagnostic.location.path(),
                     error.diagnostic.location.op, error.diagnostic.message);
}

/// What is wrong with the outputs; empty when nothing is.
std::string run(const Subject& subject, const ir::Model& model, const spec::OpTable& table,
                const ir::ExternalBytes& external) {
  const auto session = reference::Executor::make(model, table, {.external_bytes = external});
  if (!session) return tell(session.error());
  for (const official::DataSet& set : subject.sets) {
    if (subject.is_random) {
      auto copy = wire::read_binary(MappedFile::from_bytes(wire::to_bytes(model)));  // it takes the seeds out
      if (!copy) return tell(copy.error());
      const std::string fault = official::judge_random_case(subject.name, *copy, table, set.inputs, set.outputs.at(0));
      if (!fault.empty()) return fault;
      continue;
    }
    const auto outputs = (*session)->run(set.inputs, {});
    if (!outputs) return tell(outputs.error());
    for (std::size_t i = 0; i < outputs->size() && i < set.outputs.size(); ++i) {
      if (set.outputs[i].kind == ValueKind::none) continue;
      if (const auto differs = comparison::difference(set.outputs[i], (*outputs)[i], subject.tolerance(set.outputs[i])))
        return fmt::format("output {}: {}", i, *differs);
    }
  }
  return {};
}

std::vector<std::string> port_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const auto* infos : {&graph.inputs, &graph.outputs}) {
    for (const ir::ValueInfo& info : *infos) names.emplace_back(graph.name_of(info.value));
    names.emplace_back();
  }
  return names;
}

/// Brings recorded inputs from the order of one graph to that of another, which may list initializers or leave them out.
void place_inputs(std::vector<official::DataSet>& sets, const ir::Graph& from, const ir::Graph& to) {
  for (official::DataSet& set : sets) {
    std::vector<Value> placed(to.inputs.size());
    for (std::size_t i = 0; i < to.inputs.size(); ++i) {
      for (std::size_t k = 0; k < from.inputs.size() && k < set.inputs.size(); ++k) {
        if (to.name_of(to.inputs[i].value) == from.name_of(from.inputs[k].value)) placed[i] = set.inputs[k];
      }
    }
    set.inputs = std::move(placed);
  }
}

}  // namespace

std::int64_t imported(const ir::Model& model, std::string_view domain) {
  return ir::opset_of(model.opset_imports, domain).value_or(0);
}

PairResult judge(const Subject& subject, std::string_view domain, std::int64_t target, const spec::OpTable& table,
                 const JudgeOptions& options) {
  PairResult result;
  auto model = subject.read();
  if (!model) return {Outcome::wrong, tell(model.error()), {}, {}, {}, {}};
  wire::ExternalData data(model->path);
  const ir::ExternalBytes external = [&data](const ir::Tensor& tensor) { return data.bytes(tensor); };
  result.nature = nature_of(*model, domain, target, table, external);
  const std::int64_t from = imported(*model, domain);
  const std::set<std::string> known_errors = error_codes(*model, table, external);
  const auto ports = port_names(*model->graph);
  const auto convert_to = [&](std::int64_t version) -> std::pair<Outcome, std::string> {
    const opset::Conversion conversion = opset::convert(*model, table, {{std::string(domain), version}}, external);
    result.blockers.clear();
    for (const Diagnostic& refusal : conversion.refusals)
      result.blockers.push_back(fmt::format("{} [{}]", refusal.message, refusal.code));
    if (!result.blockers.empty()) return {Outcome::refused, result.blockers.front()};
    std::string fault = new_error(*model, known_errors, table, external);
    if (fault.empty() && port_names(*model->graph) != ports) fault = "inputs or outputs have other names";
    if (!fault.empty()) return {Outcome::invalid, fault};
    fault = run(subject, *model, table, external);
    return {fault.empty() ? Outcome::equal : Outcome::wrong, fault};
  };
  std::tie(result.outcome, result.reason) = convert_to(target);
  if (result.outcome != Outcome::equal) return result;
  if (options.keep) options.keep(*model);
  if (options.round_trip) {
    auto [back, reason] = convert_to(from);
    result.back = back;
    result.back_reason = std::move(reason);
  }
  return result;
}

PairResult judge_given(Subject subject, std::string_view domain, std::int64_t target, const spec::OpTable& table,
                       Result<ir::Model> converted) {
  auto original = subject.read();
  if (!original) return {Outcome::wrong, tell(original.error()), {}, {}, {}, {}};
  wire::ExternalData data(original->path);
  const ir::ExternalBytes external = [&data](const ir::Tensor& tensor) { return data.bytes(tensor); };
  PairResult result;
  result.nature = nature_of(*original, domain, target, table, external);
  result.outcome = Outcome::wrong;
  if (!converted) {
    result.reason = tell(converted.error());
  } else if (imported(*converted, domain) != target) {
    result.reason = fmt::format("imports version {}", imported(*converted, domain));
  } else {
    place_inputs(subject.sets, *original->graph, *converted->graph);
    result.reason = run(subject, *converted, table, external);
  }
  if (!result.reason.empty()) return result;
  result.reason = new_error(*converted, error_codes(*original, table, external), table, external);
  result.outcome = result.reason.empty() ? Outcome::equal : Outcome::invalid;
  return result;
}

}  // namespace onnxkit::opset_matrix
