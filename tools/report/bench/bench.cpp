#include "tools/report/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/report/bench/bench_parts.h"
#include "tools/report/diagnostics.h"
#include "tools/report/table.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

constexpr std::string_view bench_red = "\x1b[1;31m";

/// "11.2 ms +-1.3%"
std::string bench_median_text(const Latency& latency) {
  std::string text = seconds_text(latency.median);
  if (!latency.interval || latency.median <= 0) return text;
  return text + fmt::format(" ±{:.1f}%", 50 * (latency.interval->high - latency.interval->low) / latency.median);
}

bool bench_is_wrong(const BenchSideReport& side) {
  return side.failure.has_value() || (side.verdict && is_finding(*side.verdict));
}

/// What sides tell of a GPU.
struct BenchDeviceColumns {
  bool times = false, bytes = false;
};

/// Columns about GPUs where a side ran on one.
std::vector<std::string> bench_columns(const BenchDeviceColumns& device) {
  std::vector<std::string> columns = {"backend", ">median", ">p90", ">p99", ">cpu"};
  if (device.times) columns.emplace_back(">on device");
  columns.insert(columns.end(), {">first", ">load", ">runs", ">memory"});
  if (device.bytes) columns.emplace_back(">device memory");
  columns.insert(columns.end(), {"ratio", "outputs"});
  return columns;
}

std::string bench_bytes_text(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.0f} MiB", static_cast<double>(*bytes) / 1048576) : "-";
}

std::vector<std::string> bench_row(const BenchSideReport& side, const BenchDeviceColumns& device) {
  std::vector<std::string> row = {without_controls(side.label)};
  if (side.failure || side.wall.runs == 0) {
    row.resize(bench_columns(device).size() - 1, "-");
    row.push_back(bench_verdict_text(side));
    return row;
  }
  const auto median_or_none = [](const std::optional<Latency>& of) { return of ? seconds_text(of->median) : "-"; };
  row.insert(row.end(), {bench_median_text(side.wall), seconds_text(side.wall.p90), seconds_text(side.wall.p99),
                         median_or_none(side.cpu)});
  if (device.times) row.push_back(median_or_none(side.on_device));
  row.insert(row.end(), {seconds_text(side.first_seconds), seconds_text(side.load_seconds),
                         std::to_string(side.wall.runs), bench_bytes_text(side.peak_bytes)});
  if (device.bytes) row.push_back(bench_bytes_text(side.device_bytes));
  row.insert(row.end(), {bench_ratio_text(side.ratio), bench_verdict_text(side)});
  return row;
}

/// What the table does not say.
std::vector<std::string> bench_remarks(const BenchReport& report) {
  std::vector<std::string> remarks;
  for (const BenchSideReport& side : report.sides) {
    const std::string label = without_controls(side.label);
    if (side.failure) {
      remarks.push_back(label + ": " + without_controls(side.failure->diagnostic.message));
      continue;
    }
    if (bench_is_wrong(side) || !side.verdict) {
      if (!side.why.empty()) remarks.push_back(label + ": " + without_controls(side.why));
    }
    if (!side.stationary && side.wall.runs > 0)
      remarks.push_back(fmt::format("{}: times still changed after {} warm-up runs", label, side.warmups));
  }
  for (const std::string& warning : report.warnings) remarks.push_back("warning: " + without_controls(warning));
  if (!report.reached_goal)
    remarks.emplace_back("warning: the figures are less precise than asked for; --max-time gives them longer");
  if (report.cancelled) remarks.emplace_back("warning: the measurement was stopped early");
  return remarks;
}

Table bench_table(const BenchReport& report) {
  BenchDeviceColumns device;
  for (const BenchSideReport& side : report.sides) {
    device.times = device.times || side.on_device;
    device.bytes = device.bytes || side.device_bytes;
  }
  Table table(bench_columns(device));
  for (const BenchSideReport& side : report.sides)
    table.add(bench_row(side, device), bench_is_wrong(side) ? bench_red : std::string_view());
  return table;
}

}  // namespace

std::string bench_text(const std::vector<Benchmark>& benchmarks, bool color) {
  std::string text;
  for (const Benchmark& benchmark : benchmarks) {
    const BenchReport& report = benchmark.report;
    text += (text.empty() ? "" : "\n") + painted(bold, setting_of(benchmark), color) + "\n";
    text += fmt::format("  {}, {} {}, inputs {}, {:.1f} s\n\n",
                        report.processor.empty() ? "unknown processor" : without_controls(report.processor),
                        report.processors, report.processors == 1 ? "processor" : "processors",
                        without_controls(report.inputs), report.seconds);
    const Table table = bench_table(report);
    text += table.text(table.columns() - 1, color);
    for (const std::string& remark : bench_remarks(report)) text += "  " + remark + "\n";
    text += bench_profiles_text(report);
  }
  return text + bench_summary_text(benchmarks);
}

std::string bench_markdown(const std::vector<Benchmark>& benchmarks) {
  std::string text;
  for (const Benchmark& benchmark : benchmarks) {
    text += (text.empty() ? "" : "\n") +
            fmt::format("{}\n\n{}", setting_of(benchmark), bench_table(benchmark.report).markdown());
    const std::vector<std::string> remarks = bench_remarks(benchmark.report);
    if (!remarks.empty()) text += "\n";
    for (const std::string& remark : remarks) text += "- " + remark + "\n";
  }
  return text + bench_summary_markdown(benchmarks);
}

std::string bench_csv(const std::vector<Benchmark>& benchmarks) {
  Table table({"model",        "batch",         "threads", "backend",         "version",     "median_s",
               "median_low_s", "median_high_s", "p90_s",   "p99_s",           "fastest_s",   "cpu_median_s",
               "first_s",      "load_s",        "runs",    "peak_bytes",      "ratio",       "ratio_low",
               "ratio_high",   "differs",       "outputs", "device_median_s", "device_bytes"});
  const auto number = [](double value) { return fmt::format("{}", value); };
  for (const Benchmark& benchmark : benchmarks) {
    for (const BenchSideReport& side : benchmark.report.sides) {
      std::vector<std::string> row = {benchmark.model, benchmark.batch ? std::to_string(*benchmark.batch) : "",
                                      benchmark.threads ? std::to_string(*benchmark.threads) : "", side.label,
                                      side.version};
      const auto& interval = side.wall.interval;
      row.insert(row.end(), {number(side.wall.median), interval ? number(interval->low) : "",
                             interval ? number(interval->high) : "", number(side.wall.p90), number(side.wall.p99),
                             number(side.wall.fastest), side.cpu ? number(side.cpu->median) : "",
                             number(side.first_seconds), number(side.load_seconds), std::to_string(side.wall.runs),
                             side.peak_bytes ? std::to_string(*side.peak_bytes) : ""});
      const auto& ratio = side.ratio;
      row.insert(row.end(), {ratio ? number(ratio->value) : "", ratio ? number(ratio->interval.low) : "",
                             ratio ? number(ratio->interval.high) : "", ratio ? (ratio->differs ? "yes" : "no") : "",
                             bench_verdict_text(side), side.on_device ? number(side.on_device->median) : "",
                             side.device_bytes ? std::to_string(*side.device_bytes) : ""});
      table.add(std::move(row));
    }
  }
  return table.csv();
}

std::vector<BenchChange> compare_benchmarks(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after,
                                            double most) {
  std::vector<BenchChange> changes;
  for (const Benchmark& now : after) {
    const auto then = std::find_if(before.begin(), before.end(), [&](const Benchmark& one) {
      return one.model == now.model && one.batch == now.batch && one.threads == now.threads;
    });
    if (then == before.end()) continue;
    for (const BenchSideReport& side : now.report.sides) {
      const auto old = std::find_if(then->report.sides.begin(), then->report.sides.end(),
                                    [&](const BenchSideReport& one) { return one.label == side.label; });
      if (old == then->report.sides.end() || old->rounds.empty() || side.rounds.empty()) continue;
      BenchChange& change = changes.emplace_back();
      change.what = setting_of(now) + ", " + without_controls(side.label);
      change.ratio = change_of(side.rounds, old->rounds, 0);
      change.before = old->wall.median;
      change.after = side.wall.median;
      change.is_slower = change.ratio && change.ratio->differs && change.ratio->value > 1 + most;
    }
  }
  return changes;
}

std::string changes_text(const std::vector<BenchChange>& changes, bool color) {
  if (changes.empty()) return "the two reports have no measurement in common\n";
  Table table({"measurement", ">before", ">after", "change"});
  for (const BenchChange& change : changes)
    table.add({change.what, seconds_text(change.before), seconds_text(change.after),
               bench_ratio_text(change.ratio) + (change.is_slower ? ", too slow" : "")},
              change.is_slower ? bench_red : std::string_view());
  return table.text(3, color);
}

bool has_finding(const std::vector<Benchmark>& benchmarks) {
  return std::any_of(benchmarks.begin(), benchmarks.end(), [](const Benchmark& benchmark) {
    return std::any_of(benchmark.report.sides.begin(), benchmark.report.sides.end(), bench_is_wrong);
  });
}

}  // namespace onnxkit::tools
