#include <nlohmann/json.hpp>

#include "tools/report/inspect/inspect.h"
#include "tools/report/inspect/marks.h"
#include "tools/report/inspect/scopes.h"
#include "tools/report/json.h"
#include "tools/report/page.h"

namespace onnxkit::tools {

namespace {

Json index_or_null(std::size_t index) { return index == ScopeTree::none ? Json(nullptr) : Json(index); }

/// Scopes as [label, scope around it, 1 for repeated blocks]: a page of 5,000 nodes stays small.
Json folding(const GraphSummary& graph) {
  const ScopeTree tree = scopes_of(graph);
  Json scopes = Json::array(), scope_of = Json::array();
  for (const ScopeTree::Scope& scope : tree.scopes)
    scopes.push_back({scope.label, index_or_null(scope.parent), scope.repeats ? 1 : 0});
  for (const std::size_t scope : tree.scope_of) scope_of.push_back(index_or_null(scope));
  return {{"scopes", std::move(scopes)}, {"scope_of", std::move(scope_of)}, {"constants", tree.folded_constants}};
}

}  // namespace

std::string inspect_html(const InspectReport& report, const Marks& marks) {
  Json data = inspect_object(report);
  data["folding"] = Json::array();
  for (const GraphSummary& graph : report.graphs) data["folding"].push_back(folding(graph));
  data["marks"] = marks.data;
  return page_of("inspect_page",
                 {{"/*STYLE*/", "inspect_style"},
                  {"/*NUMBERS*/", "numbers"},
                  {"/*LAYOUT*/", "inspect_layout"},
                  {"/*FOLDING*/", "inspect_folding"},
                  {"/*DETAILS*/", "inspect_details"},
                  {"/*BOXES*/", "inspect_boxes"},
                  {"/*PAINT*/", "inspect_paint"},
                  {"/*PANELS*/", "inspect_panels"},
                  {"/*SCRIPT*/", "inspect_script"}},
                 data);
}

}  // namespace onnxkit::tools
