#include <nlohmann/json.hpp>

#include "tools/report/inspect/inspect.h"
#include "tools/report/inspect/layout.h"
#include "tools/report/json.h"
#include "tools/report/page.h"

namespace onnxkit::tools {

namespace {

/// Boxes as [kind, index, x, y, width], edges as [from, to, value, x, y, x, y ...]: a page of 5,000 nodes stays small.
Json drawing(const GraphSummary& graph) {
  const LaidOutGraph laid_out = lay_out(graph);
  const auto rounded = [](double v) { return static_cast<std::int64_t>(v + 0.5); };
  Json boxes = Json::array(), edges = Json::array();
  for (const auto& box : laid_out.boxes) {
    boxes.push_back({static_cast<int>(box.kind), box.index, rounded(box.x), rounded(box.y), rounded(box.width)});
  }
  for (const auto& edge : laid_out.edges) {
    Json row = {edge.from, edge.to, edge.value};
    for (const auto& [x, y] : edge.bends) {
      row.push_back(rounded(x));
      row.push_back(rounded(y));
    }
    edges.push_back(std::move(row));
  }
  return {{"boxes", std::move(boxes)},
          {"edges", std::move(edges)},
          {"width", rounded(laid_out.width)},
          {"height", rounded(laid_out.height)}};
}

}  // namespace

std::string inspect_html(const InspectReport& report) {
  Json data = Json::parse(inspect_json(report));
  data["drawings"] = Json::array();
  for (const GraphSummary& graph : report.graphs) data["drawings"].push_back(drawing(graph));
  return page_of("inspect_page", {{"/*STYLE*/", "inspect_style"}, {"/*SCRIPT*/", "inspect_script"}}, data);
}

}  // namespace onnxkit::tools
