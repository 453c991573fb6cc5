#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "onnxkit/inspect.h"
#include "onnxkit/plan.h"
#include "onnxkit/result.h"

namespace onnxkit::tools {

struct Marks;

std::string inspect_text(const InspectReport& report);
/// A table of the nodes of the main graph: multiply-adds, parameters, bytes of outputs.
std::string layers_text(const InspectReport& report);
/// Schema in docs/inspect.md.
std::string inspect_json(const InspectReport& report);
/// The same before it is text.
nlohmann::ordered_json inspect_object(const InspectReport& report);
/// What was fused and what was not. Like places are one line with a count.
std::string plan_text(const std::string& model, const PlanSummary& summary);
/// All of it; schema in docs/json/plan.schema.json.
std::string plan_json(const std::string& model, const PlanSummary& summary);
/// Graphviz source: one cluster for each graph.
std::string inspect_dot(const InspectReport& report);
/// inspect_dot drawn by Graphviz's `dot`. Error "no-graphviz" when that program is not there or fails.
Result<std::string> inspect_svg(const InspectReport& report);
/// A self-contained page: summary, and the graphs to pan, zoom, fold and search, with what other reports say of the nodes.
std::string inspect_html(const InspectReport& report, const Marks& marks);

}  // namespace onnxkit::tools
