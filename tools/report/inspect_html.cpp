#include <span>

#include <nlohmann/json.hpp>

#include "scripts/cmake/embedded.h"
#include "tools/report/inspect.h"
#include "tools/report/layout.h"

namespace onnxkit::tools {

std::span<const EmbeddedText> page_parts();

namespace {

using Json = nlohmann::ordered_json;

std::string_view part(std::string_view name) {
  for (const EmbeddedText& text : page_parts()) {
    if (text.name == name) return text.text;
  }
  return {};
}

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

void replace(std::string& text, std::string_view mark, std::string_view by) {
  if (const std::size_t at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), by);
}

/// JSON inside a script element: no "</script>" and no "<!--" can end it early.
std::string embeddable(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1))
    text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

std::string inspect_html(const InspectReport& report) {
  Json data = Json::parse(inspect_json(report));
  data["drawings"] = Json::array();
  for (const GraphSummary& graph : report.graphs) data["drawings"].push_back(drawing(graph));
  std::string page(part("page"));
  replace(page, "/*STYLE*/", part("style"));
  replace(page, "/*SCRIPT*/", part("script"));
  replace(page, "/*DATA*/", embeddable(data));
  return page;
}

}  // namespace onnxkit::tools
