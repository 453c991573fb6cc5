#include "tools/report/infer.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/report/diagnostics.h"
#include "tools/report/json.h"

namespace onnxkit::tools {
namespace {

constexpr std::size_t widest_name = 48;

std::size_t name_width(const InferReport& report) {
  std::size_t width = 0;
  for (const InferredValue& value : report.values) width = std::max(width, quote(value.name).size());
  return std::min(width, widest_name);
}

}  // namespace

std::string infer_text(const InferReport& report) {
  const std::size_t width = name_width(report);
  std::string text;
  const std::string* graph = nullptr;
  for (const InferredValue& value : report.values) {
    if (graph == nullptr || *graph != value.graph) text += without_controls(value.graph) + "\n";
    graph = &value.graph;
    text += fmt::format("  {:<{}}  {}{}\n", quote(value.name), width, without_controls(value.type),
                        value.complete ? "" : "  (not fully known)");
  }
  return text;
}

std::string infer_summary(const InferReport& report) {
  const std::size_t total = report.values.size();
  const double share = total ? 100.0 * static_cast<double>(report.complete) / static_cast<double>(total) : 100.0;
  return fmt::format("{} of {} fully known ({:.1f} %)", report.complete, counted(total, "value"), share);
}

std::string infer_json(const std::string& model, const InferReport& report, const std::string& output) {
  Json values = Json::array(), findings = Json::array();
  for (const InferredValue& value : report.values)
    values.push_back(
        {{"graph", value.graph}, {"name", value.name}, {"type", value.type}, {"complete", value.complete}});
  for (const Diagnostic& finding : report.diagnostics) findings.push_back(diagnostic_json(finding));
  return json_text({{"format", "onnxkit-infer"},
                    {"format_version", 1},
                    {"model", model},
                    {"output", output.empty() ? Json() : Json(output)},
                    {"summary", {{"values", report.values.size()}, {"complete", report.complete}}},
                    {"values", std::move(values)},
                    {"findings", std::move(findings)}});
}

std::string why_text(const std::vector<WhyStep>& steps) {
  std::string text;
  for (const WhyStep& step : steps) {
    text += fmt::format("{}: {}\n", quote(step.value), without_controls(step.type));
    if (step.graph != "main") text += fmt::format("  in       {}\n", without_controls(step.graph));
    if (!step.node.empty()) text += fmt::format("  from     {}\n", without_controls(step.node));
    text += fmt::format("  because  {}\n", without_controls(step.reason));
  }
  return text;
}

std::string why_json(const std::string& model, const std::vector<WhyStep>& steps) {
  Json list = Json::array();
  for (const WhyStep& step : steps) {
    Json item = {{"graph", step.graph}, {"value", step.value}, {"type", step.type}};
    if (!step.node.empty()) item["node"] = step.node;
    item["reason"] = step.reason;
    list.push_back(std::move(item));
  }
  return json_text(
      {{"format", "onnxkit-infer-why"}, {"format_version", 1}, {"model", model}, {"steps", std::move(list)}});
}

}  // namespace onnxkit::tools
