#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "tools/report/diagnostics.h"
#include "tools/report/diff/diff.h"
#include "tools/report/diff/diff_parts.h"
#include "tools/report/json.h"

namespace onnxkit::tools {
namespace {

constexpr std::size_t most_drawn = 24;      // outputs of a side
constexpr std::int64_t longest_side = 512;  // of a map of classes on the page

Json floor_json(const FloorMeasure& floor) {
  return {{"profile", name_of(floor.profile)},
          {"rms", real_json(floor.rms)},
          {"largest", real_json(floor.largest)},
          {"healthy", floor.healthy}};
}

/// What several sets of inputs can have together.
Json common_metrics_json(const Metrics& metrics) {
  return {{"elements", metrics.elements},
          {"compared", metrics.compared},
          {"equal", metrics.equal},
          {"nan_mismatches", metrics.nan_mismatches},
          {"inf_mismatches", metrics.inf_mismatches},
          {"sign_flips", metrics.sign_flips},
          {"max_absolute", real_json(metrics.max_absolute)},
          {"mean_absolute", real_json(metrics.mean_absolute)},
          {"rmse", real_json(metrics.rmse)},
          {"max_relative", real_json(metrics.max_relative)},
          {"range_relative", real_json(metrics.range_relative)},
          {"cosine", real_json(metrics.cosine)},
          {"max_ulps", real_json(metrics.max_ulps)},
          {"mean_ulps", real_json(metrics.mean_ulps)}};
}

Json metrics_json(const Metrics& metrics) {
  Json json = common_metrics_json(metrics);
  json["mean_relative"] = real_json(metrics.mean_relative);
  json["alpha"] = real_json(metrics.alpha);
  json["beta"] = real_json(metrics.beta);
  json["r2"] = real_json(metrics.r2);
  json["residual"] = real_json(metrics.residual);
  Json& worst = json["worst"] = Json::array();
  for (const WorstElement& element : metrics.worst)
    worst.push_back({{"index", element.index}, {"a", real_json(element.a)}, {"b", real_json(element.b)}});
  return json;
}

Json outcome_json(const onnxkit::Outcome& outcome) {
  Json figures = Json::object();
  for (const auto& [name, value] : outcome.figures) figures[name] = real_json(value);
  Json json = {{"task", outcome.task}, {"same", outcome.same}, {"figures", std::move(figures)}};
  if (!outcome.class_iou.empty()) {
    Json& classes = json["class_iou"] = Json::array();
    for (const double iou : outcome.class_iou) classes.push_back(iou < 0 ? Json() : real_json(iou));
  }
  if (!outcome.confusion.empty()) json["confusion"] = outcome.confusion;
  return json;
}

/// With few digits, since a plot shows no more.
Json coarse_json(double number, int digits) {
  return std::isfinite(number) ? Json(std::strtod(fmt::format("{:.{}g}", number, digits).c_str(), nullptr))
                               : real_json(number);
}

/// Pairs as a and d = b - a.
Json scatter_json(const Scatter& scatter) {
  Json a = Json::array(), d = Json::array();
  for (std::size_t i = 0; i < std::min(scatter.a.size(), scatter.b.size()); ++i) {
    a.push_back(coarse_json(scatter.a[i], 5));
    d.push_back(coarse_json(scatter.b[i] - scatter.a[i], 3));
  }
  return {{"a", std::move(a)}, {"d", std::move(d)}};
}

/// Positions of the pixels to draw: a large map is thinned, and of a block that differs somewhere a pixel that differs is kept.
std::vector<std::size_t> drawn_pixels(const ClassMaps& maps, std::int64_t step) {
  std::vector<std::size_t> pixels;
  for (std::int64_t top = 0; top < maps.height; top += step) {
    for (std::int64_t left = 0; left < maps.width; left += step) {
      auto kept = static_cast<std::size_t>(top * maps.width + left);
      for (std::int64_t y = top; y < std::min(top + step, maps.height); ++y) {
        for (std::int64_t x = left; x < std::min(left + step, maps.width); ++x) {
          const auto at = static_cast<std::size_t>(y * maps.width + x);
          if (maps.a[kept] == maps.b[kept] && maps.a[at] != maps.b[at]) kept = at;
        }
      }
      pixels.push_back(kept);
    }
  }
  return pixels;
}

/// [class, how often, class, how often ...]
Json run_lengths(const std::vector<std::uint16_t>& classes, const std::vector<std::size_t>& pixels) {
  Json list = Json::array();
  for (std::size_t i = 0; i < pixels.size();) {
    std::size_t end = i + 1;
    while (end < pixels.size() && classes[pixels[end]] == classes[pixels[i]]) ++end;
    list.push_back(classes[pixels[i]]);
    list.push_back(end - i);
    i = end;
  }
  return list;
}

Json maps_json(const ClassMaps& maps) {
  const std::int64_t step =
      std::max<std::int64_t>(1, (std::max(maps.height, maps.width) + longest_side - 1) / longest_side);
  const std::vector<std::size_t> pixels = drawn_pixels(maps, step);
  std::size_t different = 0;
  for (std::size_t i = 0; i < maps.a.size(); ++i) different += maps.a[i] != maps.b[i];
  return {{"height", maps.height},
          {"width", maps.width},
          {"step", step},
          {"rows", (maps.height + step - 1) / step},
          {"columns", (maps.width + step - 1) / step},
          {"different", different},
          {"a", run_lengths(maps.a, pixels)},
          {"b", run_lengths(maps.b, pixels)}};
}

bool is_whole(const ClassMaps& maps) {
  const auto height = static_cast<std::uint64_t>(maps.height), width = static_cast<std::uint64_t>(maps.width);
  return maps.height > 0 && maps.width > 0 && maps.a.size() / width == height && maps.a.size() % width == 0 &&
         maps.a.size() == maps.b.size();
}

/// Verdict and what leads to it, of a set of inputs or of several.
void add_verdict(Json& json, const OutputDiff& output) {
  json["verdict"] = name_of(output.verdict);
  json["profile"] = output.profile ? Json(name_of(*output.profile)) : Json();
  if (!output.why.empty()) json["why"] = output.why;
  json["floors"] = Json::array();
  for (const FloorMeasure& floor : output.floors) json["floors"].push_back(floor_json(floor));
  json["flips"] = output.flips;
  json["outcome"] = outcome_json(output.outcome);
}

Json output_json(const OutputDiff& output, bool with_pictures) {
  Json json = {{"name", output.name}, {"type", output.type}, {"set", output.set}};
  add_verdict(json, output);
  if (!output.metrics) return json;
  json["metrics"] = metrics_json(*output.metrics);
  json["histogram"] = {{"lowest_exponent", output.scatter.lowest_exponent},
                       {"bins", output.scatter.histogram},
                       {"zeros", output.scatter.zeros}};
  if (with_pictures) {
    json["scatter"] = scatter_json(output.scatter);
    if (output.maps && is_whole(*output.maps)) json["maps"] = maps_json(*output.maps);
  }
  return json;
}

Json group_json(const OutputGroup& group) {
  Json json = {{"name", group.all.name}, {"type", group.all.type}, {"sets", group.sets}, {"outputs", group.outputs}};
  json["worst"] =
      group.worst_set.empty()
          ? Json()
          : Json{{"set", group.worst_set}, {"output", group.worst_output}, {"floor", floor_json(group.worst)}};
  add_verdict(json, group.all);
  if (group.all.metrics) json["metrics"] = common_metrics_json(*group.all.metrics);
  return json;
}

Json floor_or_null(const std::optional<FloorMeasure>& floor) { return floor ? floor_json(*floor) : Json(); }

Json subgraph_json(const Subgraph& subgraph) {
  const auto locations = [](const std::vector<Location>& nodes) {
    Json list = Json::array();
    for (const Location& node : nodes) list.push_back(location_json(node));
    return list;
  };
  return {
      {"from", subgraph.from}, {"nodes", locations(subgraph.nodes)}, {"side_nodes", locations(subgraph.side_nodes)}};
}

Json layer_json(const LayerDiff& layer) {
  return {{"value", layer.value},
          {"place", location_json(layer.location)},
          {"side_value", layer.side_value.empty() ? layer.value : layer.side_value},
          {"matched_by", name_of(layer.matched_by)},
          {"type", layer.type},
          {"verdict", name_of(layer.verdict)},
          {"total", floor_or_null(layer.total)},
          {"own", floor_or_null(layer.own)},
          {"inherited", floor_or_null(layer.inherited)},
          {"guilty", layer.is_culprit},
          {"stretch", layer.subgraph ? subgraph_json(*layer.subgraph) : Json()},
          {"max_absolute", real_json(layer.metrics.max_absolute)},
          {"range_relative", real_json(layer.metrics.range_relative)},
          {"cosine", real_json(layer.metrics.cosine)}};
}

Json times_json(const SideReport& side) {
  const auto seconds = [](std::optional<double> value) { return value ? real_json(*value) : Json(); };
  Json runs = Json::array();
  for (const RunTime& run : side.runs) runs.push_back({{"wall", real_json(run.wall)}, {"cpu", seconds(run.cpu)}});
  return {{"load", real_json(side.load_seconds)},
          {"median_wall", seconds(median_wall(side))},
          {"median_cpu", seconds(median_cpu(side))},
          {"warmups", side.warmups},
          {"runs", std::move(runs)}};
}

/// Those that a page has plots of, which stays small with hundreds of sets: the furthest off of each group, then the worst by verdict.
std::set<std::size_t> drawn_outputs(const std::vector<OutputDiff>& outputs, const std::vector<OutputGroup>& groups) {
  std::vector<std::size_t> order(outputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::set<std::size_t> furthest;
  for (const OutputGroup& group : groups) furthest.insert(group.worst_output);
  const auto rank = [&](std::size_t i) { return std::pair(furthest.contains(i), outputs[i].verdict); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  order.resize(std::min(order.size(), most_drawn));
  return {order.begin(), order.end()};
}

Json side_json(const SideReport& side, const DiffReport& report, bool with_pictures) {
  Json json = {{"label", side.label},
               {"backend", side.backend},
               {"version", side.version},
               {"device", side.device},
               {"model", side.model},
               {"options", side.options},
               {"warnings", side.warnings},
               {"verdict", name_of(side.verdict)},
               {"summary", diff_summary(side, report)}};
  if (side.failure) json["failure"] = {{"at", side.failed_at}, {"error", diagnostic_json(side.failure->diagnostic)}};
  if (!side.log.empty()) json["log"] = side.log;
  json["seconds"] = times_json(side);
  json["outputs"] = Json::array();
  const std::vector<OutputGroup> grouped = groups(side);
  std::set<std::size_t> drawn;
  if (with_pictures) drawn = drawn_outputs(side.outputs, grouped);
  for (std::size_t i = 0; i < side.outputs.size(); ++i)
    json["outputs"].push_back(output_json(side.outputs[i], drawn.contains(i)));
  json["groups"] = Json::array();
  for (const OutputGroup& group : grouped) json["groups"].push_back(group_json(group));
  json["layers"] = Json::array();
  for (const LayerDiff& layer : side.layers) json["layers"].push_back(layer_json(layer));
  json["first_guilty"] = side.first_culprit ? Json(*side.first_culprit) : Json();
  json["not_looked_at"] = side.not_looked_at;
  if (!side.layers_note.empty()) json["layers_note"] = side.layers_note;
  if (!side.same_as.empty()) json["same_as"] = side.same_as;
  if (!side.repro.empty()) json["repro"] = side.repro;
  if (side.pass_trials.empty()) return json;
  json["wrong_passes"] = side.wrong_passes;
  Json& trials = json["pass_trials"] = Json::array();
  for (const PassTrial& trial : side.pass_trials) {
    trials.push_back({{"without", trial.without}, {"verdict", name_of(trial.verdict)}});
    if (trial.failure) trials.back()["failure"] = trial.failure->diagnostic.message;
  }
  return json;
}

}  // namespace

Json diff_object(const DiffReport& report, bool with_pictures) {
  Json sides = Json::array();
  for (const SideReport& side : report.sides) sides.push_back(side_json(side, report, with_pictures));
  Json json = {{"format", "onnxkit-diff"},
               {"format_version", 1},
               {"verdict", name_of(report.verdict)},
               {"compared", report.compared},
               {"base", report.base},
               {"sets", report.sets},
               {"noise_floor", {{"seconds", real_json(report.floor_seconds)}, {"note", report.floor_note}}},
               {"sides", std::move(sides)}};
  if (report.cancelled) json["cancelled"] = true;
  return json;
}

std::string diff_json(const DiffReport& report) { return json_text(diff_object(report, false)); }

}  // namespace onnxkit::tools
