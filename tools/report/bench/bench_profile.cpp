#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/report/bench/bench_parts.h"
#include "tools/report/diagnostics.h"
#include "tools/report/table.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

constexpr std::size_t most_operators = 15, most_steps_shown = 10;

std::string rate_text(const std::optional<double>& amount, double seconds) {
  return amount && *amount > 0 && seconds > 0 ? in_three_digits(1e-9 * *amount / seconds) : "-";
}

/// How much of what the machine could do is reached: more than all where data comes from caches.
std::string reached_text(const std::optional<double>& floor, double seconds) {
  if (!floor || *floor <= 0 || seconds <= 0) return "-";
  constexpr double most = 1e15;
  return counted(static_cast<std::uint64_t>(std::round(std::min(100 * *floor / seconds, most)))) + "%";
}

std::string share_text(double seconds, double of) { return of > 0 ? fmt::format("{:.1f}%", 100 * seconds / of) : "-"; }

Table operators_table(const BenchProfile& profile) {
  Table table({">time", ">share", ">steps", ">GFLOP/s", ">GB/s", ">of the peak", "operator"});
  double inside = 0;
  for (const BenchStep& step : profile.steps) inside += step.seconds;
  const double all = std::max(profile.seconds, inside);
  std::vector<OperatorTime> times = operator_times(profile);
  double rest = 0;
  std::size_t rest_steps = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const OperatorTime& time = times[i];
    if (i >= most_operators) {
      rest += time.seconds;
      rest_steps += time.steps;
      continue;
    }
    table.add({seconds_text(time.seconds), share_text(time.seconds, all), std::to_string(time.steps),
               rate_text(time.operations, time.seconds), rate_text(time.bytes, time.seconds),
               reached_text(time.floor, time.seconds), without_controls(time.op)});
  }
  if (rest_steps > 0)
    table.add({seconds_text(rest), share_text(rest, all), std::to_string(rest_steps), "-", "-", "-", "others"});
  if (all > inside)
    table.add({seconds_text(all - inside), share_text(all - inside, all), "-", "-", "-", "-", "between steps"});
  return table;
}

/// "conv1: Conv_0, Relu_1 and 2 more"
std::string step_text(const BenchStep& step) {
  constexpr std::size_t most_nodes = 3;
  std::string text = without_controls(step.name);
  if (step.nodes.size() == 1 && step.nodes.front() == step.name) return text;
  for (std::size_t i = 0; i < std::min(step.nodes.size(), most_nodes); ++i)
    text += (i == 0 ? ": " : ", ") + without_controls(step.nodes[i]);
  if (step.nodes.size() > most_nodes) text += fmt::format(" and {} more", step.nodes.size() - most_nodes);
  return text;
}

Table steps_table(const BenchProfile& profile) {
  Table table({">time", ">could be", ">GFLOP/s", ">GB/s", "operator", "step"});
  for (const std::size_t i : steps_to_win(profile, most_steps_shown)) {
    const BenchStep& step = profile.steps[i];
    table.add({seconds_text(step.seconds), step.floor && *step.floor > 0 ? seconds_text(*step.floor) : "-",
               rate_text(step.operations, step.seconds), rate_text(step.bytes, step.seconds), without_controls(step.op),
               step_text(step)});
  }
  return table;
}

std::string operators_title(const BenchSideReport& side) {
  const BenchProfile& profile = *side.profile;
  std::string title = fmt::format("{}, time by operator: a profiled run takes {}", without_controls(side.label),
                                  seconds_text(profile.seconds));
  return profile.roof ? title + "; " + bench_roof_text(*profile.roof) : title;
}

/// Where the backend's notes take much of the time: "a profiled run takes 11 times as long as a measured one: ..."; else empty.
std::string notes_remark(const BenchSideReport& side) {
  constexpr double much = 1.5;
  const double times = side.wall.median > 0 ? side.profile->seconds / side.wall.median : 0;
  if (times <= much) return {};
  return fmt::format(
      "a profiled run takes {:.{}f} times as long as a measured one: the shares are those of profiled runs", times,
      times < 9.95 ? 1 : 0);
}

/// What backends in processes of their own tell begins with their names.
std::string unprofiled_text(const BenchSideReport& side) {
  const std::string label = without_controls(side.label), text = without_controls(side.unprofiled);
  return text.starts_with(label) ? text : label + ": " + text;
}

std::string steps_title(const BenchSideReport& side) {
  const bool is_none = steps_to_win(*side.profile, 1).empty();
  return without_controls(side.label) + ", steps in which most can be won" + (is_none ? ": none" : "");
}

/// Empty where nothing can be won.
std::optional<Table> steps_table_of(const BenchProfile& profile) {
  return steps_to_win(profile, 1).empty() ? std::nullopt : std::optional(steps_table(profile));
}

}  // namespace

std::string bench_profiles_text(const BenchReport& report) {
  std::string text;
  for (const BenchSideReport& side : report.sides) {
    if (!side.unprofiled.empty()) text += "\n  " + unprofiled_text(side) + "\n";
    if (!side.profile) continue;
    text += "\n  " + operators_title(side) + "\n";
    if (const std::string remark = notes_remark(side); !remark.empty()) text += "  " + remark + "\n";
    text += operators_table(*side.profile).text(0, false);
    text += "\n  " + steps_title(side) + "\n";
    if (const auto table = steps_table_of(*side.profile)) text += table->text(0, false);
  }
  return text;
}

std::string bench_profiles_markdown(const BenchReport& report) {
  std::string text;
  for (const BenchSideReport& side : report.sides) {
    if (!side.unprofiled.empty()) text += "\n" + markdown_text(unprofiled_text(side)) + "\n";
    if (!side.profile) continue;
    text += "\n" + markdown_text(operators_title(side)) + "\n\n";
    if (const std::string remark = notes_remark(side); !remark.empty()) text += markdown_text(remark) + "\n\n";
    text += operators_table(*side.profile).markdown();
    text += "\n" + markdown_text(steps_title(side)) + "\n";
    if (const auto table = steps_table_of(*side.profile)) text += "\n" + table->markdown();
  }
  return text;
}

}  // namespace onnxkit::tools
