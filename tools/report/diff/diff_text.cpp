#include <fmt/core.h>

#include <algorithm>

#include "tools/report/diagnostics.h"
#include "tools/report/diff/diff.h"
#include "tools/report/diff/diff_parts.h"
#include "tools/report/table.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

constexpr std::size_t most_layers = 10, most_from = 4;
constexpr std::size_t most_log_lines = 5;

std::string_view paint_of(Verdict verdict) {
  if (is_finding(verdict)) return "\x1b[1;31m";
  return verdict == Verdict::undecidable || verdict == Verdict::not_compared ? "\x1b[1;33m" : "\x1b[1;32m";
}

std::string number(double value) { return fmt::format("{:.3g}", value); }

std::string sigmas(const std::optional<FloorMeasure>& floor) {
  return floor ? fmt::format("{:.3g} / {:.3g}", floor->rms, floor->largest) : "-";
}

std::string title(const SideReport& side) {
  std::string text = without_controls(side.label);
  std::string runtime = side.backend == side.label ? "" : without_controls(side.backend);
  for (const std::string& part : {side.version, side.device}) {
    if (!part.empty()) runtime += (runtime.empty() ? "" : " ") + without_controls(part);
  }
  for (const auto& [name, value] : side.options) {
    runtime += (runtime.empty() ? "" : ", ") + without_controls(name) + " " + without_controls(value);
  }
  return text + (runtime.empty() ? "" : " (" + runtime + ")");
}

/// Its name, or how many of all they are.
std::string sets_text(const OutputGroup& group, std::size_t all) {
  if (group.sets.size() == 1) return set_text(group.sets.front());
  return fmt::format("{} of {}", group.sets.size(), all);
}

/// The largest number of steps between two numbers says little where these are next to nothing.
std::string ulps_text(const Metrics& metrics) {
  return number(metrics.max_ulps) + (has_ulps_near_zero(metrics) ? " (near 0)" : "");
}

std::vector<std::string> output_row(const OutputGroup& group, std::size_t sets) {
  const OutputDiff& output = group.all;
  const FloorMeasure* floor = shown_floor(output);
  std::vector<std::string> row = {quote(output.name, 40)};
  if (sets > 1) row.push_back(sets_text(group, sets));
  row.push_back(verdict_text(output.verdict, output.profile));
  if (output.metrics) {
    const Metrics& metrics = *output.metrics;
    row.insert(row.end(), {number(metrics.max_absolute), number(metrics.range_relative), ulps_text(metrics),
                           fmt::format("{:.8f}", metrics.cosine)});
  } else {
    row.insert(row.end(), 4, "-");
  }
  row.push_back(floor == nullptr ? "-" : sigmas(*floor));
  row.emplace_back(floor == nullptr ? "-" : name_of(floor->profile));
  return row;
}

/// Lines under the table: why, and what it means for the outcome.
std::string remarks(const std::vector<OutputGroup>& groups, std::size_t sets) {
  std::string text;
  for (const OutputGroup& group : groups) {
    const OutputDiff& output = group.all;
    std::string name = quote(output.name, 40);
    if (!output.why.empty()) {
      // A reason is that of the first set.
      const std::string set = sets > 1 ? " of " + set_text(group.sets.front()) : "";
      text += fmt::format("  {}{}: {}\n", name, set, without_controls(output.why));
    }
    if (sets > 1)
      name += group.sets.size() == 1 ? " of " + sets_text(group, sets) : " in " + sets_text(group, sets) + " sets";
    if (group.sets.size() > 1 && !group.worst_set.empty())
      text +=
          fmt::format("  {}: most in {}, sigma rms / max {}\n", name, set_text(group.worst_set), sigmas(group.worst));
    if (output.flips > 0)
      text += fmt::format("  {}: {} that rounding can flip\n", name, counted(output.flips, "element"));
    // A line through several sets is none of theirs.
    if (output.metrics && group.sets.size() == 1 && output.verdict != Verdict::identical &&
        output.metrics->compared > 1)
      text += fmt::format("  {}: regression line {:.7g} x {} {:.3g}, r2 {:.6f}\n", name, output.metrics->alpha,
                          output.metrics->beta < 0 ? "-" : "+", std::abs(output.metrics->beta), output.metrics->r2);
    if (output.outcome.task == no_task) continue;
    std::string figures;
    for (const auto& [figure, value] : output.outcome.figures)
      figures += fmt::format("{}{} {:.4g}", figures.empty() ? "" : ", ", figure, value);
    text += fmt::format("  {} as {}: {}\n", name, output.outcome.task, figures);
  }
  return text;
}

std::string side_text(const SideReport& side, const DiffReport& report, bool color) {
  std::string text = fmt::format("{} compared with {}\n", painted(bold, title(side), color),
                                 without_controls(report.sides[report.base].label));
  const std::size_t sets = report.sets.size();
  std::vector<std::string> titles = {"output"};
  if (sets > 1) titles.emplace_back("sets");
  titles.insert(titles.end(), {"verdict", ">max |d|", ">of range", ">ulps", ">cosine", ">sigma rms / max", "profile"});
  Table table(std::move(titles));
  const std::vector<OutputGroup> outputs = groups(side);
  for (const OutputGroup& group : outputs) table.add(output_row(group, sets), paint_of(group.all.verdict));
  return text + table.text(sets > 1 ? 2 : 1, color) + remarks(outputs, sets);
}

bool has_sigmas(const DiffReport& report) {
  const auto has_floor = [](const OutputDiff& output) { return shown_floor(output) != nullptr; };
  return std::any_of(report.sides.begin(), report.sides.end(), [&](const SideReport& side) {
    return std::any_of(side.outputs.begin(), side.outputs.end(), has_floor);
  });
}

std::string times_text(const DiffReport& report) {
  constexpr std::size_t few_runs = 3;
  Table table(
      {"runtimes", ">runs", ">warm-ups", ">median wall", ">fastest", ">slowest", ">median cpu", ">load", ">ratio"});
  const std::optional<double> first = median_wall(report.sides[report.base]);
  bool any = false, few = false;
  for (const SideReport& side : report.sides) {
    std::vector<std::string> row = {without_controls(side.label)};
    const std::optional<double> wall = median_wall(side), cpu = median_cpu(side);
    if (wall) {
      any = true;
      few = few || side.runs.size() < few_runs;
      const auto [fastest, slowest] = std::minmax_element(
          side.runs.begin(), side.runs.end(), [](const RunTime& a, const RunTime& b) { return a.wall < b.wall; });
      row.insert(row.end(), {std::to_string(side.runs.size()), std::to_string(side.warmups), seconds_text(*wall),
                             seconds_text(fastest->wall), seconds_text(slowest->wall), cpu ? seconds_text(*cpu) : "-",
                             seconds_text(side.load_seconds),
                             first && *first > 0 ? fmt::format("{:.3g} x", *wall / *first) : "-"});
    } else if (side.failure) {
      row.emplace_back("failed at " + without_controls(side.failed_at));
    } else {
      continue;
    }
    table.add(std::move(row));
  }
  if (!any) return "";
  return table.text(0, false) + (few ? "  too few runs to estimate the spread: use --repeat 20\n\n" : "\n");
}

/// A line for each warning of each side.
std::string warnings_text(const DiffReport& report, bool color) {
  std::string text;
  for (const SideReport& side : report.sides) {
    for (const std::string& warning : side.warnings)
      text += fmt::format("{}: {}: {}\n", painted("\x1b[1;33m", "warning", color), without_controls(side.label),
                          without_controls(warning));
  }
  return text;
}

std::string failure_text(const SideReport& side, bool color) {
  if (!side.failure) return {};
  const Diagnostic& diagnostic = side.failure->diagnostic;
  std::string text = fmt::format("{} {} at {}: ", painted(bold, title(side), color),
                                 painted("\x1b[1;31m", "failed", color), without_controls(side.failed_at));
  // Traces and logs say again what the message says.
  std::string text_so_far = headline(diagnostic);
  const auto add = [&](std::string_view head, const std::string& line) {
    const bool is_new = text_so_far.find(line) == std::string::npos;
    if (is_new) text += fmt::format("  {:<6}  {}\n", head, without_controls(line));
    if (is_new) text_so_far += "\n" + line;
  };
  const std::vector<std::string> lines = last_lines(text_so_far, std::string::npos);
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : "          ") + lines[i] + "\n";
  if (lines.empty()) text += "\n";
  text += fmt::format("  reason  {}\n", without_controls(diagnostic.code));
  if (const std::string place = diagnostic.location.path(); !place.empty())
    text += fmt::format("  at      {}\n", without_controls(place));
  for (const std::string& note : diagnostic.notes) {
    const bool repeats = !lines.empty() && note.ends_with(lines.back());
    if (!repeats) add("note", note);
  }
  if (!diagnostic.help.empty()) text += fmt::format("  help    {}\n", without_controls(diagnostic.help));
  for (const std::string& line : last_lines(side.log, most_log_lines)) add("log", line);
  return text;
}

/// What a layer stands for: a node, or the last of several.
std::string layer_text(const LayerDiff& layer) {
  const bool several = layer.subgraph && !layer.subgraph->is_one_node();
  return node_text(layer.location) + (several ? " and the nodes before it" : "");
}

/// A culprit, in lines.
std::string culprit_text(const LayerDiff& layer, std::string_view title) {
  const std::string value = fmt::format("{} {}", quote(layer.value, 60), without_controls(layer.type));
  const std::string indent = "\n" + std::string(16, ' ');
  std::string text = fmt::format("  {:<14}", title);
  if (!layer.subgraph || layer.subgraph->is_one_node()) {
    text += fmt::format("{}, which writes {}", node_text(layer.location), value);
  } else {
    const Subgraph& subgraph = *layer.subgraph;
    std::string from;
    for (std::size_t i = 0; i < std::min(most_from, subgraph.from.size()); ++i)
      from += (i > 0 ? ", " : " from ") + quote(subgraph.from[i], 60);
    if (subgraph.from.size() > most_from) from += fmt::format(" and {} more", subgraph.from.size() - most_from);
    text += fmt::format("somewhere in the nodes that compute {}{}", value, from);
    text += fmt::format("{}{} of the first model: {}", indent, subgraph.nodes.size(), nodes_text(subgraph.nodes));
    text += fmt::format("{}{} of this side: {}", indent, subgraph.side_nodes.size(), nodes_text(subgraph.side_nodes));
  }
  return text + fmt::format("{}own deviation {}, inherited {}, total {} sigma (rms / max)\n", indent, sigmas(layer.own),
                            sigmas(layer.inherited), sigmas(layer.total));
}

std::string blame_text(const SideReport& side) {
  std::string text;
  std::size_t culprits = 0;
  for (const LayerDiff& layer : side.layers) {
    if (layer.is_culprit && ++culprits <= most_layers)
      text += culprit_text(layer, culprits == 1 ? "first culprit" : "culprit");
  }
  if (culprits > most_layers) text += fmt::format("  culprits      {} more\n", culprits - most_layers);
  if (culprits > 0) return text;
  if (side.first_culprit && *side.first_culprit < side.layers.size())
    return culprit_text(side.layers[*side.first_culprit], "deviates at");
  // What deviates without making an output deviate is told in the note.
  const bool any_off = std::any_of(side.layers.begin(), side.layers.end(),
                                   [](const LayerDiff& layer) { return is_finding(layer.verdict); });
  return any_off ? "  no culprit is known\n" : "  no node deviates by more than rounding\n";
}

/// The deviation of some values, evenly taken in the order of execution, the last among them.
std::string along_graph_text(const std::vector<LayerDiff>& layers) {
  std::vector<const LayerDiff*> known;
  for (const LayerDiff& layer : layers) {
    if (layer.total) known.push_back(&layer);
  }
  if (known.empty()) return {};
  Table table({">sigma rms / max", ">max |d|", ">of range", "value", "node"});
  const std::size_t rows = std::min(known.size(), most_layers);
  for (std::size_t i = 1; i <= rows; ++i) {
    const LayerDiff& layer = *known[i * known.size() / rows - 1];
    table.add({sigmas(layer.total), number(layer.metrics.max_absolute), number(layer.metrics.range_relative),
               quote(layer.value, 40), node_text(layer.location)});
  }
  return "  deviation along the graph\n" + table.text(3, false);
}

/// How many values, and how they were found.
std::string compared_text(const std::vector<LayerDiff>& layers) {
  const auto found_by = [&](MatchedBy by) {
    return std::count_if(layers.begin(), layers.end(), [by](const LayerDiff& layer) { return layer.matched_by == by; });
  };
  std::string how;
  for (const MatchedBy by : {MatchedBy::content, MatchedBy::structure}) {
    if (const auto count = found_by(by); count > 0)
      how += fmt::format("{}{} by {}", how.empty() ? ", matched " : ", ", count, name_of(by));
  }
  return counted(layers.size(), "value") + " compared" + how;
}

std::string layers_text(const SideReport& side, bool color) {
  const std::string note =
      side.layers_note.empty() ? "" : fmt::format("  note          {}\n", without_controls(side.layers_note));
  if (side.layers.empty())
    return note.empty() ? "" : fmt::format("layers of {}\n", painted(bold, without_controls(side.label), color)) + note;
  std::string text =
      fmt::format("layers of {}: {}\n", painted(bold, without_controls(side.label), color), compared_text(side.layers));
  text += blame_text(side) + note;
  if (side.not_looked_at > 0) text += fmt::format("  not examined  {} more that deviate\n", side.not_looked_at);
  if (!side.repro.empty()) text += fmt::format("  reproduced in {}\n", without_controls(side.repro));
  const std::vector<std::size_t> worst = worst_layers(side.layers, most_layers);
  if (worst.empty()) return text + along_graph_text(side.layers);
  Table table({">own rms / max", ">inherited", ">total", "value", "deviation", "node"});
  for (const std::size_t i : worst) {
    const LayerDiff& layer = side.layers[i];
    const bool is_off = is_finding(layer.verdict);
    table.add({sigmas(layer.own), sigmas(layer.inherited), sigmas(layer.total), verdict_text(layer.verdict),
               layer.is_culprit ? "own"
               : is_off         ? "inherited"
                                : "",
               layer_text(layer)},
              paint_of(layer.verdict));
  }
  return text + table.text(3, color);
}

}  // namespace

std::string diff_text(const DiffReport& report, bool color) {
  if (report.sides.empty()) return "nothing was compared\n";
  std::string text;
  for (std::size_t i = 0; i < report.sides.size(); ++i) {
    if (!report.sides[i].outputs.empty()) text += side_text(report.sides[i], report, color) + "\n";
  }
  if (has_sigmas(report)) text += fmt::format("  sigma: {}\n\n", sigma_legend);
  text += times_text(report);
  for (const SideReport& side : report.sides) {
    for (const std::string& part : {layers_text(side, color), failure_text(side, color)}) {
      if (!part.empty()) text += part + "\n";
    }
  }
  if (const std::string warnings = warnings_text(report, color); !warnings.empty()) text += warnings + "\n";
  if (!report.floor_note.empty()) text += "no noise floor: " + without_controls(report.floor_note) + "\n";
  for (std::size_t i = 0; i < report.sides.size(); ++i) {
    const SideReport& side = report.sides[i];
    if (i == report.base && !side.failure) continue;
    const bool bad = side.failure || is_finding(side.verdict);
    text += fmt::format("{}: {}\n", painted(bad ? "\x1b[1;31m" : "\x1b[1;32m", without_controls(side.label), color),
                        diff_summary(side, report));
  }
  if (!report.compared) text += "nothing could be compared\n";
  if (report.cancelled) text += "interrupted: this is what was finished\n";
  return text;
}

}  // namespace onnxkit::tools
