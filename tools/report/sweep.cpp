#include "tools/report/sweep.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnxkit/version.h"
#include "tools/report/diagnostics.h"
#include "tools/report/table.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

constexpr std::string_view line_format = "onnxkit-sweep-result";
constexpr std::array outcomes = {SweepOutcome::ok, SweepOutcome::finding, SweepOutcome::failed, SweepOutcome::crashed,
                                 SweepOutcome::late};
constexpr std::array wrong_verdicts = {"beyond tolerance", "not rounding", "mismatch", "different"};

void add_text(std::vector<std::string>& texts, const std::string& text) {
  if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

std::string text_in(const Json& object, const char* name) {
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? member->get<std::string>() : std::string();
}

/// Codes of errors and verdicts that are findings, anywhere in a report; none of ours is nested so deeply.
void add_findings(const Json& json, std::vector<std::string>& findings, int depth = 64) {
  if (json.is_object()) {
    if (text_in(json, "severity") == "error") add_text(findings, text_in(json, "code"));
    const std::string verdict = text_in(json, "verdict");
    if (std::find(wrong_verdicts.begin(), wrong_verdicts.end(), verdict) != wrong_verdicts.end())
      add_text(findings, verdict);
  }
  if (!json.is_structured() || depth == 0) return;
  for (const auto& part : json) add_findings(part, findings, depth - 1);
}

/// The last line of what it printed to standard error.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const std::size_t start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1,
                     end - (start == std::string::npos ? 0 : start + 1) + 1);
}

Json result_json(const SweepResult& result) {
  Json json = {{"model", result.model}, {"outcome", name_of(result.outcome)}, {"findings", findings_of(result)}};
  if (result.status) json["status"] = *result.status;
  if (!result.signal.empty()) json["signal"] = result.signal;
  json["seconds"] = result.seconds;
  json["cpu_seconds"] = result.cpu_seconds;
  json["peak_bytes"] = result.peak_bytes;
  if (!result.host.empty()) json["host"] = result.host;
  if (result.is_kept) json["kept"] = true;
  if (!result.report.is_null()) json["report"] = result.report;
  if (!result.output.empty()) json["output"] = result.output;
  if (!result.messages.empty()) json["messages"] = result.messages;
  return json;
}

std::string line_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

/// How many models have each finding, the most common first.
std::vector<std::pair<std::string, std::size_t>> counts_of(const SweepReport& sweep, SweepOutcome outcome) {
  std::map<std::string, std::size_t> counts;
  for (const SweepResult& result : sweep.results) {
    if (result.outcome != outcome) continue;
    for (const std::string& finding : findings_of(result)) ++counts[finding];
  }
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::size_t count_of(const SweepReport& sweep, SweepOutcome outcome) {
  return static_cast<std::size_t>(std::count_if(sweep.results.begin(), sweep.results.end(),
                                                [&](const SweepResult& result) { return result.outcome == outcome; }));
}

std::string_view paint_of(SweepOutcome outcome) { return outcome == SweepOutcome::ok ? std::string_view() : bold; }

std::string summary_text(const SweepReport& sweep, bool color) {
  Table table({"outcome", ">models", "what"});
  for (const SweepOutcome outcome : outcomes) {
    const std::size_t count = count_of(sweep, outcome);
    if (count == 0) continue;
    std::vector<std::string> parts;
    for (const auto& [finding, models] : counts_of(sweep, outcome))
      parts.push_back(fmt::format("{} {}", models, without_controls(finding)));
    table.add({name_of(outcome), counted(count), fmt::format("{}", fmt::join(parts, ", "))}, paint_of(outcome));
  }
  if (sweep.left > 0) table.add({"not finished", counted(sweep.left), ""}, bold);
  return table.text(0, color);
}

}  // namespace

std::string name_of(SweepOutcome outcome) {
  switch (outcome) {
    case SweepOutcome::ok:
      return "ok";
    case SweepOutcome::finding:
      return "finding";
    case SweepOutcome::failed:
      return "failed";
    case SweepOutcome::crashed:
      return "crashed";
    case SweepOutcome::late:
      break;
  }
  return "late";
}

std::vector<std::string> findings_of(const SweepResult& result) {
  std::vector<std::string> findings;
  if (result.outcome == SweepOutcome::ok) return findings;
  add_findings(result.report, findings);
  if (result.outcome == SweepOutcome::late) add_text(findings, "time limit");
  if (result.outcome == SweepOutcome::crashed) add_text(findings, result.signal);
  if (findings.empty()) add_text(findings, last_line(result.messages));
  return findings;
}

std::string sweep_text(const SweepReport& sweep, bool color) {
  std::string text = fmt::format("{}, {}\n\n", without_controls(fmt::format("{}", fmt::join(sweep.command, " "))),
                                 counted(sweep.results.size() + sweep.left, "model"));
  text += summary_text(sweep, color);
  Table table({"model", "outcome", "what", ">time"});
  for (const SweepResult& result : sweep.results) {
    if (result.outcome == SweepOutcome::ok) continue;
    table.add({shown_path(result.model), name_of(result.outcome),
               without_controls(fmt::format("{}", fmt::join(findings_of(result), ", "))),
               fmt::format("{:.1f} s", result.seconds)},
              paint_of(result.outcome));
  }
  const bool all_ok = count_of(sweep, SweepOutcome::ok) == sweep.results.size();
  return all_ok ? text : text + "\n" + table.text(1, color);
}

std::string sweep_json(const SweepReport& sweep) {
  Json counts = Json::object(), results = Json::array();
  for (const SweepOutcome outcome : outcomes) counts[name_of(outcome)] = count_of(sweep, outcome);
  for (const SweepResult& result : sweep.results) results.push_back(result_json(result));
  Json json = {{"format", "onnxkit-sweep"},     {"format_version", 1},
               {"command", sweep.command},      {"models", sweep.results.size() + sweep.left},
               {"outcomes", std::move(counts)}, {"not_finished", sweep.left}};
  if (sweep.failure) json["failure"] = diagnostic_json(sweep.failure->diagnostic);
  json["results"] = std::move(results);
  return json_text(json);
}

std::string sweep_csv(const SweepReport& sweep) {
  Table table({"model", "outcome", "findings", "status", "signal", "seconds", "cpu_seconds", "peak_bytes", "host"});
  for (const SweepResult& result : sweep.results)
    table.add({result.model, name_of(result.outcome), fmt::format("{}", fmt::join(findings_of(result), "; ")),
               result.status ? std::to_string(*result.status) : "", result.signal,
               fmt::format("{:.6f}", result.seconds), fmt::format("{:.6f}", result.cpu_seconds),
               std::to_string(result.peak_bytes), result.host});
  return table.csv();
}

std::string result_line(const SweepResult& result, const std::vector<std::string>& command) {
  Json json = {{"format", line_format},
               {"format_version", 1},
               {"onnxkit", version()},
               {"command", command},
               {"model_state", result.model_state}};
  json.update(result_json(result));
  return line_text(json);
}

Result<StoredResult> result_in(const std::string& line, const std::string& path, std::size_t line_number) {
  const auto fault = [&](const char* code_text) {
    return fmt::format("{}, line {}: {}", without_controls(path), line_number, code_text);
  };
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) return make_error("json-syntax", fault("this is not JSON"));
  if (!json.is_object() || text_in(json, "format") != line_format)
    return make_error("not-supported", fault("this is not a result of onnxkit sweep"));
  StoredResult stored;
  SweepResult& result = stored.result;
  try {
    if (json.at("format_version").get<int>() != 1)
      return make_error("not-supported", fault("the result is of a newer version"));
    stored.version = json.at("onnxkit").get<std::string>();
    stored.command = json.at("command").get<std::vector<std::string>>();
    result.model = json.at("model").get<std::string>();
    result.model_state = json.at("model_state").get<std::string>();
    const std::string outcome = json.at("outcome").get<std::string>();
    const auto known =
        std::find_if(outcomes.begin(), outcomes.end(), [&](SweepOutcome one) { return name_of(one) == outcome; });
    if (known == outcomes.end()) return make_error("not-supported", fault("the outcome is unknown"));
    result.outcome = *known;
    if (const auto status = json.find("status"); status != json.end()) result.status = status->get<int>();
    result.signal = text_in(json, "signal");
    result.seconds = json.at("seconds").get<double>();
    result.cpu_seconds = json.at("cpu_seconds").get<double>();
    result.peak_bytes = json.at("peak_bytes").get<std::uint64_t>();
    result.host = text_in(json, "host");
    if (const auto report = json.find("report"); report != json.end()) result.report = *report;
    result.output = text_in(json, "output");
    result.messages = text_in(json, "messages");
  } catch (const Json::exception&) {
    return make_error("not-supported", fault("the result lacks members that every result has"));
  }
  return stored;
}

}  // namespace onnxkit::tools
