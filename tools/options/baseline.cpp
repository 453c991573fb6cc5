#include "tools/options/baseline.h"

#include <nlohmann/json.hpp>

#include "tools/model_file.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

using BaselineJson = nlohmann::ordered_json;

Error baseline_error(ErrorCode code, std::string message, const std::string& path) {
  Error error = make_error(code, std::move(message));
  error.diagnostic.location.file = path;
  return error;
}

/// A string member, empty when there is none.
std::string text_of(const BaselineJson& json, const char* name) {
  const auto member = json.is_object() ? json.find(name) : json.end();
  return member != json.end() && member->is_string() ? member->get<std::string>() : std::string();
}

std::size_t count_of(const BaselineJson& json) {
  const auto member = json.find("count");
  return member != json.end() && member->is_number_unsigned() ? member->get<std::size_t>() : 0;
}

/// As JSON holds it.
std::string as_utf8(const std::string& text) {
  return BaselineJson::parse(BaselineJson(text).dump(-1, ' ', false, BaselineJson::error_handler_t::replace))
      .get<std::string>();
}

void forget(CheckReport& report, Severity severity) {
  --(severity == Severity::error ? report.errors : severity == Severity::warning ? report.warnings : report.infos);
}

}  // namespace

Baseline::Key Baseline::key_of(const std::string& model, const Diagnostic& finding, const std::string& place) const {
  return {as_utf8(model), finding.code, as_utf8(by_position_ ? finding.location.path() : place)};
}

void Baseline::add(const std::string& model, const CheckReport& report, const std::vector<std::string>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) ++counts_[key_of(model, report.diagnostics[i], places[i])];
}

std::vector<Diagnostic> Baseline::take_from(const std::string& model, CheckReport& report,
                                            const std::vector<std::string>& places) {
  std::vector<Diagnostic> taken, left;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Diagnostic& finding = report.diagnostics[i];
    const auto known = counts_.find(key_of(model, finding, places[i]));
    const bool is_known = known != counts_.end() && known->second > 0;
    if (is_known) --known->second, forget(report, finding.severity);
    (is_known ? taken : left).push_back(std::move(finding));
  }
  report.diagnostics = std::move(left);
  return taken;
}

std::string Baseline::json() const {
  BaselineJson findings = BaselineJson::array();
  for (const auto& [key, count] : counts_)
    findings.push_back({{"model", key.model}, {"code", key.code}, {"place", key.place}, {"count", count}});
  return json_text({{"format", "onnxkit-baseline"}, {"format_version", 2}, {"findings", std::move(findings)}});
}

Result<Baseline> Baseline::read(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  const BaselineJson json = BaselineJson::parse(*text, nullptr, false);
  if (text_of(json, "format") != "onnxkit-baseline" || !json.contains("findings") || !json["findings"].is_array())
    return baseline_error("json-syntax", "this is not a baseline that check --write-baseline wrote", path);
  Baseline baseline;
  baseline.by_position_ = json.value("format_version", BaselineJson(1)) == 1;
  for (const BaselineJson& finding : json["findings"]) {
    Key key{text_of(finding, "model"), text_of(finding, "code"), text_of(finding, "place")};
    if (key.code.empty() || count_of(finding) == 0)
      return baseline_error("json-syntax", "a finding of this baseline has no code or no count", path);
    baseline.counts_[std::move(key)] += count_of(finding);
  }
  return baseline;
}

}  // namespace onnxkit::tools
