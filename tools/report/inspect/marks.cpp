#include "tools/report/inspect/marks.h"

#include <filesystem>
#include <optional>
#include <unordered_map>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "tools/report/inspect/inspect.h"
#include "tools/report/json.h"

namespace onnxkit::tools {
namespace {

/// A member; null when there is none.
const Json& member(const Json& json, const char* name) {
  static const Json none;
  const auto found = json.is_object() ? json.find(name) : json.end();
  return found == json.end() ? none : *found;
}

std::string string_in(const Json& json, const char* name) {
  const Json& value = member(json, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<std::size_t> index_in(const Json& json, const char* name) {
  const Json& value = member(json, name);
  return value.is_number_unsigned() ? std::optional(value.get<std::size_t>()) : std::nullopt;
}

/// Deeper than any report, and shallow enough for what works on JSON by recursion.
Json parse_report(const std::string& text) {
  constexpr int deepest = 32;
  return Json::parse(
      text, [](int depth, Json::parse_event_t, const Json&) { return depth < deepest; }, false);
}

/// As JSON holds it, with U+FFFD for bytes that are no UTF-8.
std::string text_in_json(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

bool is_same_file(const std::string& a, const std::string& b) {
  if (a == b) return true;
  std::error_code failed;
  return std::filesystem::equivalent(a, b, failed) && !failed;
}

struct NodeAt {
  std::size_t graph, node;
};

/// The nodes of a model by the place that reports give.
class Places {
 public:
  explicit Places(const InspectReport& model) : model_(model) {
    for (std::size_t g = 0; g < model.graphs.size(); ++g) graphs_.emplace(text_in_json(model.graphs[g].path), g);
  }

  /// nullopt when the place names no node, or another than the model has there.
  std::optional<NodeAt> find(const Json& place) const {
    const auto node = index_in(place, "node");
    const Json& steps = member(place, "scope");
    if (!node || !steps.is_array()) return std::nullopt;
    std::string path;
    for (const Json& step : steps)
      path += (path.empty() ? "" : " / ") + (step.is_string() ? step.get<std::string>() : "");
    const auto graph = graphs_.find(path);
    if (graph == graphs_.end() || *node >= model_.graphs[graph->second].nodes.size()) return std::nullopt;
    const NodeSummary& found = model_.graphs[graph->second].nodes[*node];
    if (string_in(place, "op") != text_in_json(found.op)) return std::nullopt;
    if (string_in(place, "node_name") != text_in_json(found.name)) return std::nullopt;
    return NodeAt{graph->second, *node};
  }

 private:
  const InspectReport& model_;
  std::unordered_map<std::string, std::size_t> graphs_;
};

/// What a report says of one node, or of none.
struct Statement {
  const Json* place;
  Json said;
};

/// A part of a report that is about one model.
struct ModelPart {
  std::string model;  ///< as the report names it
  std::string title;
  const char* list;  ///< where its statements go: findings or deviations
  std::vector<Statement> statements;
};

std::vector<ModelPart> parts_of_check(const Json& report) {
  std::vector<ModelPart> parts;
  for (const Json& file : member(report, "files")) {
    ModelPart part{string_in(file, "path"), "check", "findings", {}};
    for (const Json& finding : member(file, "findings")) {
      if (finding.is_object()) part.statements.push_back({&member(finding, "place"), finding});
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<ModelPart> parts_of_diff(const Json& report) {
  std::vector<ModelPart> parts;
  const Json& sides = member(report, "sides");
  const std::size_t base = index_in(report, "base").value_or(0);
  const std::string model = sides.is_array() && base < sides.size() ? string_in(sides[base], "model") : std::string();
  for (const Json& side : sides) {
    const Json& layers = member(side, "layers");
    if (!layers.is_array() || layers.empty()) continue;
    ModelPart part{model, "diff --layers: " + string_in(side, "label"), "deviations", {}};
    for (const Json& layer : layers) {
      Json said;
      for (const char* key : {"value", "type", "verdict", "total", "own", "inherited", "guilty", "max_absolute",
                              "range_relative", "cosine", "place"})
        said[key] = member(layer, key);
      part.statements.push_back({&member(layer, "place"), std::move(said)});
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Error report_error(ErrorCode code, std::string message, const std::string& path) {
  Error error = make_error(code, std::move(message));
  error.diagnostic.location.file = path;
  return error;
}

class Marking {
 public:
  explicit Marking(const InspectReport& model) : path_(model.path), places_(model) {
    marks_.data = {{"reports", Json::array()},
                   {"findings", Json::array()},
                   {"deviations", Json::array()},
                   {"unmatched", Json::array()}};
  }

  Result<void> add(const ReportFile& file) {
    const Json report = parse_report(file.text);
    const std::string format = string_in(report, "format");
    std::vector<ModelPart> parts;
    if (format == "onnxkit-check") parts = parts_of_check(report);
    if (format == "onnxkit-diff") parts = parts_of_diff(report);
    if (format != "onnxkit-check" && format != "onnxkit-diff")
      return report_error("json-syntax", "this is not a report that check or diff --layers wrote with --format json",
                          file.path);
    if (format == "onnxkit-diff" && parts.empty())
      return report_error("usage", "this report of diff has no values inside the graph; diff --layers compares them",
                          file.path);
    bool is_used = false;
    for (ModelPart& part : parts) is_used |= add(file, part);
    if (is_used) return {};
    Error error = report_error(
        "usage", fmt::format("this is a report of {}", parts.empty() ? "no model" : quote(parts.front().model)),
        file.path);
    error.diagnostic.expected = "a report of " + quote(path_);
    return error;
  }

  Marks take() { return std::move(marks_); }

 private:
  /// Whether the part is about this model.
  bool add(const ReportFile& file, ModelPart& part) {
    std::vector<std::optional<NodeAt>> found;
    std::size_t named = 0, missing = 0;
    for (const Statement& statement : part.statements) {
      found.push_back(places_.find(*statement.place));
      if (!index_in(*statement.place, "node")) continue;
      ++named;
      missing += found.back() ? 0 : 1;
    }
    if (!is_same_file(part.model, path_)) {
      if (named == 0 || missing > 0) return false;
      marks_.warnings.push_back(fmt::format("{} is a report of {}; all nodes that it names are in this model, too",
                                            quote(file.path), quote(part.model)));
    } else if (missing > 0) {
      marks_.warnings.push_back(
          fmt::format("{}: {} of the {} nodes that it names are not in this model, which has changed since",
                      quote(file.path), missing, named));
    }
    const std::size_t report = marks_.data["reports"].size();
    marks_.data["reports"].push_back({{"file", file.path}, {"title", part.title}, {"model", part.model}});
    for (std::size_t i = 0; i < found.size(); ++i) {
      Json row = {{"report", report}};
      if (found[i]) {
        row["graph"] = found[i]->graph;
        row["node"] = found[i]->node;
      } else {
        row["list"] = part.list;
      }
      row["said"] = std::move(part.statements[i].said);
      marks_.data[found[i] ? part.list : "unmatched"].push_back(std::move(row));
    }
    return true;
  }

  std::string path_;
  Places places_;
  Marks marks_;
};

}  // namespace

Result<Marks> marks_of(const InspectReport& model, const std::vector<ReportFile>& reports) {
  Marking marking(model);
  for (const ReportFile& file : reports) {
    if (const auto added = marking.add(file); !added) return added.error();
  }
  return marking.take();
}

}  // namespace onnxkit::tools
