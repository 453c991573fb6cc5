#include <fmt/format.h>

#include <algorithm>

#include "tools/report/bench/bench_parts.h"
#include "tools/report/table.h"

namespace onnxkit::tools {
namespace {

using CsvRow = std::vector<std::string>;

std::string csv_number(double value) { return fmt::format("{}", value); }
std::string csv_whole(const std::optional<std::uint64_t>& value) { return value ? std::to_string(*value) : ""; }
std::string csv_word(bool is) { return is ? "yes" : "no"; }

CsvRow csv_setting(const Benchmark& benchmark) {
  return {csv_text(benchmark.model), benchmark.batch ? std::to_string(*benchmark.batch) : "",
          benchmark.threads ? std::to_string(*benchmark.threads) : ""};
}

/// From "median_s" to "peak_bytes".
void add_csv_times(const BenchSideReport& side, CsvRow& row) {
  const auto& interval = side.wall.interval;
  row.insert(row.end(), {csv_number(side.wall.median), interval ? csv_number(interval->low) : "",
                         interval ? csv_number(interval->high) : "", csv_number(side.wall.p90),
                         csv_number(side.wall.p99), csv_number(side.wall.fastest),
                         side.cpu ? csv_number(side.cpu->median) : "", csv_number(side.first_seconds),
                         csv_number(side.load_seconds), std::to_string(side.wall.runs), csv_whole(side.peak_bytes)});
}

/// From "ratio" to "grown_bytes".
void add_csv_ratio(const Benchmark& benchmark, const BenchSideReport& side, CsvRow& row) {
  const auto& ratio = side.ratio;
  const auto rate = bench_rate(benchmark, side);
  row.insert(row.end(), {ratio ? csv_number(ratio->value) : "", ratio ? csv_number(ratio->interval.low) : "",
                         ratio ? csv_number(ratio->interval.high) : "", ratio ? csv_word(ratio->differs) : "",
                         bench_verdict_text(side), side.on_device ? csv_number(side.on_device->median) : "",
                         csv_whole(side.device_bytes), rate ? csv_number(*rate) : "", std::to_string(side.warmups),
                         csv_whole(side.grown_bytes)});
}

constexpr std::size_t csv_times = 11, csv_ratios = 10;

/// Empty figures but for what is said of the outputs.
void add_csv_failure(const std::string& what, CsvRow& row) {
  constexpr std::size_t outputs_in_ratios = 4;
  row.resize(row.size() + csv_times);
  CsvRow rest(csv_ratios);
  rest[outputs_in_ratios] = what;
  row.insert(row.end(), rest.begin(), rest.end());
}

CsvRow csv_side(const Benchmark& benchmark, const BenchSideReport& side, const std::vector<std::string>& fastest) {
  CsvRow row = csv_setting(benchmark);
  row.insert(row.end(), {csv_text(side.label), csv_text(side.version)});
  if (side.failure || side.wall.runs == 0) {
    add_csv_failure(bench_verdict_text(side), row);
  } else {
    add_csv_times(side, row);
    add_csv_ratio(benchmark, side, row);
  }
  const BenchSideReport* base = bench_base(benchmark.report);
  row.insert(row.end(), {side.ratio && base ? csv_text(base->label) : "",
                         csv_text(side.failure ? bench_failure_text(*side.failure) : side.why),
                         csv_word(benchmark.report.reached_goal), csv_word(benchmark.report.cancelled),
                         csv_word(std::find(fastest.begin(), fastest.end(), side.label) != fastest.end()),
                         csv_text(side.arithmetic)});
  return row;
}

}  // namespace

std::string bench_csv(const std::vector<Benchmark>& benchmarks) {
  Table table({"model",        "batch",         "threads",  "backend",         "version",      "median_s",
               "median_low_s", "median_high_s", "p90_s",    "p99_s",           "fastest_s",    "cpu_median_s",
               "first_s",      "load_s",        "runs",     "peak_bytes",      "ratio",        "ratio_low",
               "ratio_high",   "differs",       "outputs",  "device_median_s", "device_bytes", "per_second",
               "warmups",      "grown_bytes",   "ratio_to", "reason",          "reached_goal", "cancelled",
               "fastest",      "arithmetic"});
  for (const Benchmark& benchmark : benchmarks) {
    const std::vector<std::string> fastest = fastest_of(benchmark);
    for (const BenchSideReport& side : benchmark.report.sides) table.add(csv_side(benchmark, side, fastest));
    if (!benchmark.failure) continue;
    CsvRow row = csv_setting(benchmark);
    row.resize(row.size() + 2);
    add_csv_failure(benchmark.report.cancelled ? "stopped" : "failed", row);
    row.insert(row.end(), {"", csv_text(bench_failure_text(*benchmark.failure)), csv_word(false),
                           csv_word(benchmark.report.cancelled), csv_word(false), ""});
    table.add(std::move(row));
  }
  return table.csv();
}

}  // namespace onnxkit::tools
