#include "tools/report/bench/bench_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/report/diagnostics.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

/// A line of Python's stack says nothing to who reads one line.
bool is_of_stack(const std::string& note) { return note.starts_with("Traceback (") || note.starts_with("  "); }

/// A sum that is known as long as its terms are.
void add_known(std::optional<double>& sum, const std::optional<double>& term, bool is_first) {
  if (is_first)
    sum = term;
  else
    sum = sum && term ? std::optional(*sum + *term) : std::nullopt;
}

double to_win(const BenchStep& step) { return step.seconds - step.floor.value_or(0); }

}  // namespace

std::string setting_of(const Benchmark& benchmark) {
  std::string text = without_controls(benchmark.model);
  if (benchmark.batch) text += fmt::format(", batch {}", *benchmark.batch);
  if (benchmark.threads)
    text += fmt::format(", {} {}", *benchmark.threads, *benchmark.threads == 1 ? "thread" : "threads");
  return text;
}

/// "0.71 x (0.69 to 0.73)"
std::string bench_ratio_text(const std::optional<Ratio>& ratio) {
  if (!ratio) return "-";
  return fmt::format("{} ({} to {})", ratio->differs ? in_three_digits(ratio->value) + " x" : "no clear difference",
                     in_three_digits(ratio->interval.low), in_three_digits(ratio->interval.high));
}

std::optional<double> bench_rate(const Benchmark& benchmark, const BenchSideReport& side) {
  if (side.failure || side.wall.median <= 0) return std::nullopt;
  return static_cast<double>(benchmark.batch.value_or(1)) / side.wall.median;
}

bool bench_is_wrong(const BenchSideReport& side) {
  return side.failure.has_value() || (side.verdict && is_finding(*side.verdict));
}

const BenchSideReport* bench_base(const BenchReport& report) {
  for (const BenchSideReport& side : report.sides)
    if (!side.failure && side.wall.runs > 0) return &side;
  return nullptr;
}

std::string csv_text(const std::string& text) {
  const std::string safe = without_controls(text);
  return !safe.empty() && std::string_view("=+-@").find(safe.front()) != std::string_view::npos ? "'" + safe : safe;
}

std::string bench_verdict_text(const BenchSideReport& side) {
  if (side.failure) return "failed at " + without_controls(side.failed_at);
  if (!side.verdict) return "not judged";
  const bool is_coarse = side.rounding && *side.rounding != Profile::float32;
  return std::string(name_of(*side.verdict)) + (is_coarse ? fmt::format(" ({})", name_of(*side.rounding)) : "");
}

std::string bench_failure_text(const Error& error) {
  constexpr int most_notes = 3;
  const Diagnostic& diagnostic = error.diagnostic;
  std::string text = diagnostic.message;
  if (const std::string place = place_text(diagnostic.location); !place.empty()) text += " (" + place + ")";
  int told = 0;
  for (const std::string& note : diagnostic.notes) {
    if (told == most_notes || is_of_stack(note) || text.find(note) != std::string::npos) continue;
    text += "; " + note;
    ++told;
  }
  if (!diagnostic.help.empty()) text += "; " + diagnostic.help;
  return without_controls(text);
}

std::string bench_roof_text(const BenchRoof& roof) {
  return fmt::format("{} {} {} GFLOP/s and {} GB/s", roof.threads,
                     roof.threads == 1 ? "thread reaches" : "threads reach",
                     in_three_digits(1e-9 * roof.operations_per_second), in_three_digits(1e-9 * roof.bytes_per_second));
}

std::vector<OperatorTime> operator_times(const BenchProfile& profile) {
  std::map<std::string, OperatorTime> by_op;
  for (const BenchStep& step : profile.steps) {
    OperatorTime& sum = by_op[step.op];
    const bool is_first = sum.steps == 0;
    sum.op = step.op;
    sum.seconds += step.seconds;
    ++sum.steps;
    sum.calls += step.calls;
    add_known(sum.operations, step.operations, is_first);
    add_known(sum.bytes, step.bytes, is_first);
    add_known(sum.floor, step.floor, is_first);
  }
  std::vector<OperatorTime> times;
  for (auto& [op, time] : by_op) times.push_back(std::move(time));
  std::stable_sort(times.begin(), times.end(),
                   [](const OperatorTime& a, const OperatorTime& b) { return a.seconds > b.seconds; });
  return times;
}

std::vector<std::size_t> steps_to_win(const BenchProfile& profile, std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    if (to_win(profile.steps[i]) > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return to_win(profile.steps[a]) > to_win(profile.steps[b]); });
  if (order.size() > most) order.resize(most);
  return order;
}

}  // namespace onnxkit::tools
