#include "tools/report/extract.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/report/diagnostics.h"
#include "tools/report/json.h"

namespace onnxkit::tools {
namespace {

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + quote(name);
  return text;
}

}  // namespace

std::string extract_summary(const std::string& model, const Extraction& part) {
  std::string text = fmt::format("{}: {} of {}", shown_path(model), part.nodes, counted(part.all_nodes, "node"));
  if (!part.inputs.empty())
    text += fmt::format(", {} {}", part.inputs.size() == 1 ? "input" : "inputs", list_text(part.inputs));
  if (!part.also_needed.empty())
    text += fmt::format("; the outputs also depend on {} other than through --from", list_text(part.also_needed));
  return text + "\n";
}

std::string extract_json(const std::string& model, const std::string& output, const Extraction& part) {
  return json_text({{"format", "onnxkit-extract"},
                    {"format_version", 1},
                    {"model", model},
                    {"output", output},
                    {"nodes", {{"all", part.all_nodes}, {"extracted", part.nodes}}},
                    {"inputs", part.inputs},
                    {"also_needed", part.also_needed}});
}

}  // namespace onnxkit::tools
