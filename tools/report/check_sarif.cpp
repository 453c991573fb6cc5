#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "onnxkit/version.h"
#include "tools/report/check.h"
#include "tools/report/diagnostics.h"
#include "tools/report/json.h"

namespace onnxkit::tools {
namespace {

/// A relative path becomes a relative reference, so that code scanning finds the file in the checkout.
std::string uri_of(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || std::string_view("-._~/").find(c) != std::string_view::npos)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

const char* level_of(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

std::string message_of(const Diagnostic& finding) {
  std::string text;
  if (!finding.location.op.empty()) {
    text += finding.location.op;
    if (!finding.location.node_name.empty()) text += " " + quote(finding.location.node_name);
    text += ": ";
  }
  text += finding.message;
  if (!finding.expected.empty()) text += "\nexpected: " + finding.expected;
  if (!finding.found.empty()) text += "\nfound: " + finding.found;
  for (const std::string& note : finding.notes) text += "\nnote: " + note;
  if (!finding.help.empty()) text += "\nhelp: " + finding.help;
  return text;
}

/// The page of a code below its title.
std::string page_body(const std::string& page) {
  const std::size_t title_end = std::min(page.find('\n'), page.size());
  return page.substr(std::min(page.find_first_not_of('\n', title_end), page.size()));
}

/// The first paragraph of a page body that is no heading, on one line.
std::string first_paragraph(const std::string& body) {
  std::size_t begin = 0;
  while (begin < body.size() && (body[begin] == '#' || body[begin] == '\n'))
    begin = std::min(body.find('\n', begin), body.size() - 1) + 1;
  std::string text = body.substr(begin, std::min(body.find("\n\n", begin), body.size()) - begin);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The rules of a run in the order of their first result.
class Rules {
 public:
  Rules() {
    for (CodeExplanation& page : explain_codes()) pages_.emplace(page.code, std::move(page));
  }

  std::size_t index_of(const std::string& code) {
    const auto [at, is_new] = indices_.emplace(code, indices_.size());
    if (is_new) rules_.push_back(rule(code));
    return at->second;
  }
  const Json& json() const { return rules_; }

 private:
  Json rule(const std::string& code) const {
    const auto page = pages_.find(code);
    if (page == pages_.end()) return {{"id", code}};
    const std::string body = page_body(page->second.text);
    return {{"id", code},
            {"shortDescription", {{"text", page->second.summary}}},
            {"fullDescription", {{"text", first_paragraph(body)}}},
            {"help", {{"text", body}, {"markdown", body}}}};
  }

  std::map<std::string, CodeExplanation> pages_;
  std::map<std::string, std::size_t> indices_;
  Json rules_ = Json::array();
};

Json location_of(const Location& location, const std::string& path, std::size_t artifact) {
  Json physical = {{"artifactLocation", {{"uri", uri_of(path)}, {"index", artifact}}}};
  if (location.byte_offset) physical["region"] = {{"byteOffset", *location.byte_offset}};
  Json sarif = {{"physicalLocation", std::move(physical)}};
  if (location.scope.empty() && !location.node && location.item.empty()) return sarif;
  Json logical = {{"fullyQualifiedName", location.path()}};
  const std::string& name = !location.item_name.empty() ? location.item_name : location.node_name;
  if (!name.empty()) logical["name"] = name;
  sarif["logicalLocations"] = Json::array({std::move(logical)});
  return sarif;
}

Json result_of(const Diagnostic& finding, const std::string& path, std::size_t artifact, Rules& rules) {
  return {{"ruleId", finding.code},
          {"ruleIndex", rules.index_of(finding.code)},
          {"level", level_of(finding.severity)},
          {"message", {{"text", message_of(finding)}}},
          {"locations", Json::array({location_of(finding.location, path, artifact)})},
          {"partialFingerprints", {{"placeAndMessage/v1", finding.location.path() + ": " + finding.message}}}};
}

/// SARIF has room for fixes that a reader may apply, none for those that are done: they are notes of the run.
Json notification_of(const Fix& fix, const std::string& path, std::size_t artifact, Rules& rules) {
  return {{"associatedRule", {{"id", fix.code}, {"index", rules.index_of(fix.code)}}},
          {"level", "note"},
          {"message", {{"text", "fixed: " + fix.done}}},
          {"locations", Json::array({location_of(fix.location, path, artifact)})}};
}

Json invocation_of(const std::set<std::string>& suppressed, Outcome outcome, Json notifications) {
  Json invocation = {{"executionSuccessful", outcome == Outcome::ok || outcome == Outcome::finding},
                     {"exitCode", static_cast<int>(outcome)}};
  Json overrides = Json::array();
  for (const std::string& code : suppressed)
    overrides.push_back({{"descriptor", {{"id", code}}}, {"configuration", {{"enabled", false}}}});
  if (!overrides.empty()) invocation["ruleConfigurationOverrides"] = std::move(overrides);
  if (!notifications.empty()) invocation["toolExecutionNotifications"] = std::move(notifications);
  return invocation;
}

}  // namespace

std::string check_sarif(std::span<const FileReport> reports, const CheckTotals& totals,
                        const std::set<std::string>& suppressed, Outcome outcome) {
  Rules rules;
  Json artifacts = Json::array(), results = Json::array(), notifications = Json::array();
  for (const FileReport& report : reports) {
    const std::size_t artifact = artifacts.size();
    const std::string path = report.path == "-" ? "stdin" : report.path;
    artifacts.push_back({{"location", {{"uri", uri_of(path)}}}, {"roles", {"analysisTarget"}}});
    for (const Fix& fix : report.fixes) notifications.push_back(notification_of(fix, path, artifact, rules));
    const auto add = [&](const Diagnostic& finding, const char* state) -> Json& {
      Json& result = results.emplace_back(result_of(finding, path, artifact, rules));
      if (report.has_baseline) result["baselineState"] = state;
      return result;
    };
    if (report.unreadable) add(*report.unreadable, "new");
    for (const Diagnostic& finding : report.findings.diagnostics) add(finding, "new");
    if (report.has_baseline) {
      for (const Diagnostic& finding : report.known) add(finding, "unchanged");
    }
    for (const auto& [finding, by] : report.findings.suppressed_at_nodes) {
      const char* kind = by == SuppressedFinding::By::model ? "inSource" : "external";
      add(finding, "new")["suppressions"] = Json::array({Json{{"kind", kind}}});
    }
  }
  Json run = {{"tool", {{"driver", {{"name", "onnxkit"}, {"version", onnxkit::version()}, {"rules", rules.json()}}}}},
              {"invocations", Json::array({invocation_of(suppressed, outcome, std::move(notifications))})},
              {"artifacts", std::move(artifacts)},
              {"results", std::move(results)},
              {"properties", {{"suppressed", totals.suppressed}, {"notShown", totals.dropped}}}};
  return json_text(
      {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
       {"version", "2.1.0"},
       {"runs", Json::array({std::move(run)})}});
}

}  // namespace onnxkit::tools
