#include "tools/report/weights.h"

#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/report/diagnostics.h"
#include "tools/report/json.h"

namespace onnxkit::tools {
namespace {

using How = WeightMatch::How;

std::string way_text(How how) {
  switch (how) {
    case How::name:
      return "name";
    case How::prefix:
      return "name without a prefix";
    case How::shape:
      return "shape";
    default:
      return "shape and order";
  }
}

}  // namespace

std::string weights_summary(const WeightsReport& report, const std::string& file) {
  std::string ways;
  for (const How how : {How::name, How::prefix, How::shape, How::order}) {
    const auto count = std::count_if(report.matches.begin(), report.matches.end(),
                                     [&](const WeightMatch& match) { return match.how == how; });
    if (count > 0) ways += fmt::format("{} {} by {}", ways.empty() ? ":" : ",", count, way_text(how));
  }
  std::string rest;
  if (!report.missing.empty()) rest += fmt::format("; {} not found", report.missing.size());
  if (!report.unused.empty()) rest += fmt::format("; {} not used", counted(report.unused.size(), "tensor"));
  return fmt::format("{}: {}{}{}{}\n", without_controls(file), counted(report.matches.size(), "weight"), ways, rest,
                     report.fits() ? "" : "; nothing written");
}

std::string weights_table(const WeightsReport& report) {
  std::string text;
  for (const WeightMatch& match : report.matches)
    text += fmt::format("  {} <- {} ({}{})\n", quote(match.initializer), quote(match.tensor), way_text(match.how),
                        match.is_transposed ? ", transposed" : "");
  for (const std::string& name : report.missing) text += fmt::format("  {} <- nothing\n", quote(name));
  for (const std::string& name : report.unused) text += fmt::format("  {} is not used\n", quote(name));
  return text;
}

Json weights_json(const WeightsReport& report, const std::string& file) {
  Json matches = Json::array(), findings = Json::array();
  for (const WeightMatch& match : report.matches)
    matches.push_back({{"initializer", match.initializer},
                       {"tensor", match.tensor},
                       {"by", name_of(match.how)},
                       {"transposed", match.is_transposed}});
  for (const Diagnostic& finding : report.findings) findings.push_back(diagnostic_json(finding));
  return {{"file", file},
          {"matches", std::move(matches)},
          {"missing", report.missing},
          {"unused", report.unused},
          {"findings", std::move(findings)}};
}

}  // namespace onnxkit::tools
