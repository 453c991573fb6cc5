#include "converters/opset/model/old_faults.h"

#include <algorithm>

#include "checker/check.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::opset {
namespace {

/// Beyond it new faults of a code could not be told from old ones.
constexpr std::size_t most_of_one_code = 100'000;

/// Positions of nodes move and say nothing of what is at fault; names stay.
std::string key_of(const Diagnostic& finding) {
  std::string key = finding.code;
  for (const std::string& step : finding.location.scope) key += '\n' + (step.starts_with("node ") ? "node" : step);
  key += '\n' + finding.location.item.substr(0, finding.location.item.find_last_not_of("0123456789") + 1);
  return key + '\n' + finding.location.item_name;
}

bool is_import_fault(const Diagnostic& finding) {
  return finding.code == "opset-duplicate" || finding.code == "opset-unknown";
}

/// Findings about what one version of an operator allows; another version may allow it.
bool is_about_version(const Diagnostic& finding) {
  return finding.location.node && (finding.code == "attribute-value" || finding.code == "unknown-attribute" ||
                                   finding.code == "type-not-allowed");
}

Diagnostic as_warning(Diagnostic finding, bool is_cured) {
  finding.severity = Severity::warning;
  if (is_cured) {
    finding.help.clear();
    finding.notes.emplace_back("the opset that the model is converted to allows it");
    return finding;
  }
  finding.notes.emplace_back("the model had this fault before the conversion");
  return finding;
}

}  // namespace

std::vector<Diagnostic> errors_of(const ir::Model& model, const spec::OpTable& table,
                                  const ir::ExternalBytes& external) {
  checker::Collector collector({}, most_of_one_code);
  checker::ModelCheckOptions options;
  options.inference.external_bytes = external;
  options.accepts_additions = true;  // they stay as they are
  checker::check_model(model, table, options, collector);
  std::vector<Diagnostic> errors = collector.take();
  std::erase_if(errors, [](const Diagnostic& finding) { return finding.severity != Severity::error; });
  return errors;
}

OldFaults::OldFaults(std::vector<Diagnostic> errors, const ir::Model& model)
    : faults_(std::move(errors)),
      is_taken_(faults_.size()),
      is_refused_(faults_.size()),
      is_cured_(faults_.size()),
      imports_none_(model.opset_imports.empty()) {
  std::map<std::string_view, std::size_t> initializers;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    by_key_[key_of(faults_[i])].faults.push_back(i);
    const Location& location = faults_[i].location;
    if (!location.node && location.item.find("initializer") != std::string::npos)
      initializers.emplace(location.item_name, i);
  }
  if (initializers.empty()) return;
  for (const auto& scope : ir::graph_scopes(model)) {
    for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) {
      for (const ir::ValueId input : scope->graph->nodes[n].inputs) {
        if (input == ir::ValueId::none) continue;
        const auto fault = initializers.find(scope->graph->name_of(input));
        if (fault == initializers.end()) continue;
        readers_.emplace(ir::location_of_node(scope->path, *scope->graph, n).path(), fault->second);
      }
    }
  }
}

OpsetRefusal OldFaults::refuse(std::size_t fault) {
  is_refused_[fault] = true;
  return {faults_[fault], {}};
}

bool OldFaults::may_be_cured() const { return std::any_of(faults_.begin(), faults_.end(), is_about_version); }

void OldFaults::note_cured(std::span<const Diagnostic> at_target) {
  const auto place_of = [](const Diagnostic& finding) { return finding.code + '\n' + finding.location.path(); };
  std::set<std::string> left;
  for (const Diagnostic& finding : at_target) left.insert(place_of(finding));
  for (std::size_t i = 0; i < faults_.size(); ++i)
    is_cured_[i] = is_about_version(faults_[i]) && !left.contains(place_of(faults_[i]));
}

std::vector<OpsetRefusal> OldFaults::blocking(const std::set<std::string>& domains) {
  std::vector<OpsetRefusal> blocking;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const Diagnostic& fault = faults_[i];
    const bool imports_nothing = fault.code == "opset-import" && fault.location.item == "opset_import" && imports_none_;
    const bool no_opset =
        is_import_fault(fault) && domains.contains(std::string(ir::canonical_domain(fault.location.item_name)));
    // Each import says what the nodes under it mean, and conversion makes one of them.
    const bool is_fixed = fault.code == "function-opset";
    const bool wrong_node = fault.location.node && !is_fixed && !is_cured_[i] && !domains.empty();
    if (imports_nothing || no_opset || wrong_node) blocking.push_back(refuse(i));
  }
  return blocking;
}

std::vector<OpsetRefusal> OldFaults::relied_on(std::span<const OpsetChange> changes,
                                               const std::set<std::string>& believed) {
  std::set<std::size_t> found;
  for (const OpsetChange& change : changes) {
    const auto [begin, end] = readers_.equal_range(change.location.path());
    for (auto reader = begin; reader != end; ++reader) found.insert(reader->second);
  }
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (!faults_[i].location.item_name.empty() && believed.contains(faults_[i].location.item_name)) found.insert(i);
  }
  std::vector<OpsetRefusal> refusals;
  for (const std::size_t i : found) {
    refusals.push_back(refuse(i));
    refusals.back().notes.emplace_back("the conversion depends on it");
  }
  return refusals;
}

bool OldFaults::take(const Diagnostic& finding) {
  const auto found = by_key_.find(key_of(finding));
  if (found == by_key_.end()) return false;
  auto& [faults, next] = found->second;
  while (next < faults.size() && is_cured_[faults[next]]) ++next;
  if (next == faults.size()) return false;
  is_taken_[faults[next++]] = true;
  return true;
}

std::vector<Diagnostic> OldFaults::warnings_of(const std::vector<bool>& chosen, bool as_chosen) const {
  std::vector<Diagnostic> warnings;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (chosen[i] == as_chosen) warnings.push_back(as_warning(faults_[i], is_cured_[i]));
  }
  return warnings;
}

std::vector<Diagnostic> OldFaults::warnings() const { return warnings_of(is_refused_, false); }

std::vector<Diagnostic> OldFaults::warnings_of_result() const {
  std::vector<bool> stated = is_taken_;
  for (std::size_t i = 0; i < stated.size(); ++i) stated[i] = stated[i] || is_cured_[i];
  return warnings_of(stated, true);
}

}  // namespace onnxkit::opset
