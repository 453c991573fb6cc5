#include "tools/report/diff/diff_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

constexpr std::size_t most_kept = 1000;  // of the confusion, see metrics.h

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void merge_metrics(Metrics& all, const Metrics& other) {
  if (const auto both = static_cast<double>(all.compared + other.compared); both > 0) {
    const double share = static_cast<double>(other.compared) / both;
    all.mean_absolute += share * (other.mean_absolute - all.mean_absolute);
    all.mean_ulps += share * (other.mean_ulps - all.mean_ulps);
    all.rmse = std::hypot(std::sqrt(1 - share) * all.rmse, std::sqrt(share) * other.rmse);
  }
  all.elements += other.elements;
  all.compared += other.compared;
  all.equal += other.equal;
  all.nan_mismatches += other.nan_mismatches;
  all.inf_mismatches += other.inf_mismatches;
  all.sign_flips += other.sign_flips;
  all.max_absolute = std::max(all.max_absolute, other.max_absolute);
  all.max_relative = std::max(all.max_relative, other.max_relative);
  all.range_relative = std::max(all.range_relative, other.range_relative);
  all.max_ulps = std::max(all.max_ulps, other.max_ulps);
  all.cosine = std::min(all.cosine, other.cosine);
}

using Confusion = std::vector<std::array<std::uint64_t, 3>>;

void merge_confusion(Confusion& all, const Confusion& other) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> counts;
  for (const Confusion* rows : {&std::as_const(all), &other}) {
    for (const auto& [a, b, count] : *rows) counts[{a, b}] += count;
  }
  all.clear();
  for (const auto& [pair, count] : counts) all.push_back({pair.first, pair.second, count});
  std::stable_sort(all.begin(), all.end(), [](const auto& one, const auto& next) { return one[2] > next[2]; });
  if (all.size() > most_kept) all.resize(most_kept);
}

void merge_floors(std::vector<FloorMeasure>& all, const std::vector<FloorMeasure>& others) {
  for (const FloorMeasure& other : others) {
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const FloorMeasure& floor) { return floor.profile == other.profile; });
    if (same == all.end()) {
      all.push_back(other);
      continue;
    }
    const auto elements = static_cast<double>(same->elements + other.elements);
    const auto squares = [](const FloorMeasure& floor) {
      return floor.rms * floor.rms * static_cast<double>(floor.elements);
    };
    same->rms = elements > 0 ? std::sqrt((squares(*same) + squares(other)) / elements) : std::max(same->rms, other.rms);
    same->elements += other.elements;
    same->largest = std::max(same->largest, other.largest);
    same->healthy = same->healthy && other.healthy;
  }
}

/// `output` without its plots.
OutputDiff figures_of(const OutputDiff& output) {
  OutputDiff figures;
  figures.name = output.name;
  figures.type = output.type;
  figures.set = output.set;
  figures.verdict = output.verdict;
  figures.profile = output.profile;
  figures.floors = output.floors;
  figures.flips = output.flips;
  figures.why = output.why;
  figures.metrics = output.metrics;
  figures.outcome = output.outcome;
  return figures;
}

void add_set(OutputGroup& group, const OutputDiff& output, std::size_t position) {
  group.outputs.push_back(position);
  group.sets.push_back(output.set);
  const FloorMeasure* floor = shown_floor(output);
  if (!floor || floor->elements == 0 || (!group.worst_set.empty() && floor->rms <= group.worst.rms)) return;
  group.worst_set = output.set;
  group.worst_output = position;
  group.worst = *floor;
}

}  // namespace

std::vector<OutputGroup> groups(const SideReport& side) {
  std::vector<OutputGroup> all;
  for (std::size_t i = 0; i < side.outputs.size(); ++i) {
    const OutputDiff& output = side.outputs[i];
    const auto same = std::find_if(all.begin(), all.end(), [&](const OutputGroup& group) {
      return group.all.name == output.name && group.all.verdict == output.verdict &&
             group.all.profile == output.profile && group.all.metrics.has_value() == output.metrics.has_value();
    });
    if (same == all.end()) {
      OutputGroup& group = all.emplace_back();
      group.all = figures_of(output);
      group.worst_output = i;
      add_set(group, output, i);
      continue;
    }
    if (output.metrics) merge_metrics(*same->all.metrics, *output.metrics);
    merge_floors(same->all.floors, output.floors);
    merge_outcome(same->all.outcome, output.outcome, same->sets.size());
    same->all.flips += output.flips;
    add_set(*same, output, i);
  }
  return all;
}

void merge_outcome(onnxkit::Outcome& all, const onnxkit::Outcome& other, std::size_t sets) {
  const auto count = static_cast<double>(sets);
  all.same = all.same && other.same;
  all.class_iou.clear();
  merge_confusion(all.confusion, other.confusion);
  for (const auto& [name, value] : other.figures) {
    const std::string& wanted = name;
    const auto figure =
        std::find_if(all.figures.begin(), all.figures.end(), [&](const auto& entry) { return entry.first == wanted; });
    if (figure == all.figures.end())
      all.figures.emplace_back(name, value);
    else if (name.starts_with("largest"))
      figure->second = std::max(figure->second, value);
    else if (name.starts_with("lowest") || name.starts_with("first"))
      figure->second = std::min(figure->second, value);
    else
      figure->second = (figure->second * count + value) / (count + 1);
  }
}

bool has_ulps_near_zero(const Metrics& metrics) {
  // The element of the largest relative difference is not larger than the largest difference divided by it.
  if (metrics.range_relative < metrics.max_relative / 100) return true;
  constexpr double doubled = 0x1p24;  // more float32 numbers than lie between one and its double
  return metrics.max_ulps > doubled && metrics.max_relative < 1;
}

std::string verdict_text(Verdict verdict, std::optional<Profile> profile) {
  if (verdict != Verdict::rounding || !profile) return std::string(name_of(verdict));
  return fmt::format("{} ({})", name_of(verdict), name_of(*profile));
}

const FloorMeasure* shown_floor(const OutputDiff& output) {
  for (const FloorMeasure& floor : output.floors) {
    if (output.profile == floor.profile) return &floor;
  }
  return output.floors.empty() ? nullptr : &output.floors.front();
}

std::string outcome_change(const onnxkit::Outcome& outcome) {
  return outcome.same ? std::string() : sentence_of(outcome);
}

std::optional<double> median_wall(const SideReport& side) {
  std::vector<double> times;
  for (const RunTime& run : side.runs) times.push_back(run.wall);
  return median(std::move(times));
}

std::optional<double> median_cpu(const SideReport& side) {
  std::vector<double> times;
  for (const RunTime& run : side.runs) {
    if (!run.cpu) return {};
    times.push_back(*run.cpu);
  }
  return median(std::move(times));
}

std::string node_text(const Location& location) {
  Location node = location;
  node.item.clear();
  node.item_name.clear();
  return place_text(node);
}

std::string set_text(const std::string& name) {
  constexpr std::size_t widest = 40;
  if (name.size() <= widest) return quote(name, widest);
  std::size_t from = name.size() - widest;
  while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xC0) == 0x80)
    ++from;  // inside of a character
  return quote("..." + name.substr(from), widest + 3);
}

std::string nodes_text(const std::vector<Location>& nodes) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, nodes.size()); ++i) {
    const Location& node = nodes[i];
    text += i > 0 ? ", " : "";
    text += node.node_name.empty() ? fmt::format("node {} {}", node.node.value_or(0), node.op)
                                   : node.op + " " + quote(node.node_name, 60);
  }
  if (nodes.size() > most) text += fmt::format(" and {} more", nodes.size() - most);
  return without_controls(text);
}

std::vector<std::size_t> worst_layers(const std::vector<LayerDiff>& layers, std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].subgraph) order.push_back(i);
  }
  const auto weight = [&](std::size_t i) {
    if (layers[i].is_culprit) return std::numeric_limits<double>::infinity();
    return layers[i].own ? layers[i].own->rms : 0;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  if (order.size() > most) order.resize(most);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<std::string> last_lines(const std::string& log, std::size_t most) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find_first_of("\r\n", at), log.size());
    if (end > at) lines.push_back(without_controls(std::string_view(log).substr(at, end - at)));
    at = end + 1;
  }
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  return lines;
}

}  // namespace onnxkit::tools
