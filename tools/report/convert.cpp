#include "tools/report/convert.h"

#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/report/diagnostics.h"
#include "tools/report/explain.h"
#include "tools/report/json.h"
#include "tools/report/weights.h"

namespace onnxkit::tools {
namespace {

std::string_view verdict_name(Equality verdict) {
  return verdict == Equality::equal ? "equal" : verdict == Equality::different ? "different" : "unjudged";
}

Json comparison_json(const std::optional<SourceReport>& report) {
  if (!report) return {};
  return {{"verdict", verdict_name(report->verdict)},
          {"reason", report->reason},
          {"runtime", report->runtime},
          {"outputs", report->outputs},
          {"profile", report->finest_profile}};
}

Json converted_file_json(const ConvertedFile& file) {
  Json findings = Json::array();
  for (const Diagnostic& finding : file.findings) findings.push_back(diagnostic_json(finding));
  Json json = {{"model", file.model},
               {"output", file.is_written ? Json(file.output) : Json()},
               {"from", file.from},
               {"to", file.to},
               {"findings", std::move(findings)},
               {"verified", comparison_json(file.verified)},
               {"round_trip", comparison_json(file.round_trip)}};
  if (file.weights) json["weights"] = weights_json(*file.weights, file.weights_file);
  if (file.read) json["nodes_read"] = mapping_json(*file.read);
  if (file.written) json["nodes_written"] = mapping_json(*file.written);
  if (file.error) json["error"] = diagnostic_json(file.error->diagnostic);
  return json;
}

}  // namespace

std::string convert_summary(std::span<const ConvertedFile> files) {
  std::size_t written = 0, refused = 0;
  for (const ConvertedFile& file : files) {
    written += file.is_written;
    refused += !file.is_written && !file.findings.empty();
  }
  const std::size_t failed = files.size() - written - refused;
  std::string text = fmt::format("{}: {} converted", counted(files.size(), "model"), written);
  if (refused > 0) text += fmt::format(", {} refused", refused);
  if (failed > 0) text += fmt::format(", {} failed", failed);
  return text;
}

std::string convert_json(std::span<const ConvertedFile> files) {
  Json list = Json::array();
  for (const ConvertedFile& file : files) list.push_back(converted_file_json(file));
  return json_text({{"format", "onnxkit-convert"}, {"format_version", 1}, {"files", std::move(list)}});
}

}  // namespace onnxkit::tools
