#include "tools/report/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

/// "  "x" float[1, 3, 224, 224], "mask" int64[1, 64] and 4 more", with its line break.
std::string bench_inputs_text(const std::vector<BenchInput>& inputs) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(inputs.size(), most); ++i)
    text += fmt::format("{} {} {}", i == 0 ? " " : ",", quote(inputs[i].name), without_controls(inputs[i].type));
  if (inputs.size() > most) text += fmt::format(" and {} more", inputs.size() - most);
  return text.empty() ? text : text + "\n";
}

/// What sides tell of a GPU.
struct BenchDeviceColumns {
  bool times = false, bytes = false;
};

/// Columns about GPUs where a side ran on one.
std::vector<std::string> bench_columns(const BenchDeviceColumns& device) {
  std::vector<std::string> columns = {"backend", ">median", ">p90", ">p99", ">cpu"};
  if (device.times) columns.emplace_back(">on device");
  columns.insert(columns.end(), {">per second", ">first", ">load", ">warm-up", ">runs", ">memory"});
  if (device.bytes) columns.emplace_back(">device memory");
  columns.insert(columns.end(), {"ratio", "outputs"});
  return columns;
}

std::string bench_bytes_text(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.0f} MiB", static_cast<double>(*bytes) / 1048576) : "-";
}

/// "12,740", "45.3"
std::string bench_rate_text(const std::optional<double>& rate) {
  if (!rate) return "-";
  const double digits = std::pow(10, std::max(std::floor(std::log10(*rate)) - 2, 0.0));
  return *rate < 100 ? fmt::format("{:.3g}", *rate)
                     : counted(static_cast<std::uint64_t>(std::round(*rate / digits) * digits));
}

std::vector<std::string> bench_row(const Benchmark& benchmark, const BenchSideReport& side,
                                   const BenchDeviceColumns& device) {
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
  row.insert(row.end(),
             {bench_rate_text(bench_rate(benchmark, side)), seconds_text(side.first_seconds),
              seconds_text(side.load_seconds), std::to_string(side.warmups), std::to_string(side.wall.runs),
              side.grown_bytes ? "+" + bench_bytes_text(side.grown_bytes) : bench_bytes_text(side.peak_bytes)});
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

Table bench_table(const Benchmark& benchmark) {
  const BenchReport& report = benchmark.report;
  BenchDeviceColumns device;
  for (const BenchSideReport& side : report.sides) {
    device.times = device.times || side.on_device;
    device.bytes = device.bytes || side.device_bytes;
  }
  Table table(bench_columns(device));
  for (const BenchSideReport& side : report.sides)
    table.add(bench_row(benchmark, side, device), bench_is_wrong(side) ? bench_red : std::string_view());
  return table;
}

}  // namespace

std::string bench_text(const std::vector<Benchmark>& benchmarks, bool color) {
  std::string text;
  for (const Benchmark& benchmark : benchmarks) {
    const BenchReport& report = benchmark.report;
    text += (text.empty() ? "" : "\n") + painted(bold, setting_of(benchmark), color) + "\n";
    text += fmt::format("  {}, {} {}, inputs {}, {:.1f} s\n{}\n",
                        report.processor.empty() ? "unknown processor" : without_controls(report.processor),
                        report.processors, report.processors == 1 ? "processor" : "processors",
                        without_controls(report.inputs), report.seconds, bench_inputs_text(report.input_types));
    const Table table = bench_table(benchmark);
    text += table.text(table.columns() - 1, color);
    for (const std::string& remark : bench_remarks(report)) text += "  " + remark + "\n";
    text += bench_profiles_text(report);
  }
  return text + bench_summary_text(benchmarks);
}

std::string bench_markdown(const std::vector<Benchmark>& benchmarks) {
  std::string text;
  for (const Benchmark& benchmark : benchmarks) {
    text +=
        (text.empty() ? "" : "\n") + fmt::format("{}\n\n{}", setting_of(benchmark), bench_table(benchmark).markdown());
    const std::vector<std::string> remarks = bench_remarks(benchmark.report);
    if (!remarks.empty()) text += "\n";
    for (const std::string& remark : remarks) text += "- " + remark + "\n";
  }
  return text + bench_summary_markdown(benchmarks);
}

std::string bench_csv(const std::vector<Benchmark>& benchmarks) {
  Table table({"model",        "batch",         "threads", "backend",         "version",      "median_s",
               "median_low_s", "median_high_s", "p90_s",   "p99_s",           "fastest_s",    "cpu_median_s",
               "first_s",      "load_s",        "runs",    "peak_bytes",      "ratio",        "ratio_low",
               "ratio_high",   "differs",       "outputs", "device_median_s", "device_bytes", "per_second",
               "warmups",      "grown_bytes"});
  constexpr std::size_t outputs_column = 20;
  const auto number = [](double value) { return fmt::format("{}", value); };
  for (const Benchmark& benchmark : benchmarks) {
    for (const BenchSideReport& side : benchmark.report.sides) {
      std::vector<std::string> row = {benchmark.model, benchmark.batch ? std::to_string(*benchmark.batch) : "",
                                      benchmark.threads ? std::to_string(*benchmark.threads) : "", side.label,
                                      side.version};
      if (side.failure || side.wall.runs == 0) {
        row.resize(table.columns());
        row[outputs_column] = bench_verdict_text(side);
        table.add(std::move(row));
        continue;
      }
      const auto& interval = side.wall.interval;
      const auto rate = bench_rate(benchmark, side);
      row.insert(row.end(), {number(side.wall.median), interval ? number(interval->low) : "",
                             interval ? number(interval->high) : "", number(side.wall.p90), number(side.wall.p99),
                             number(side.wall.fastest), side.cpu ? number(side.cpu->median) : "",
                             number(side.first_seconds), number(side.load_seconds), std::to_string(side.wall.runs),
                             side.peak_bytes ? std::to_string(*side.peak_bytes) : ""});
      const auto& ratio = side.ratio;
      row.insert(row.end(), {ratio ? number(ratio->value) : "", ratio ? number(ratio->interval.low) : "",
                             ratio ? number(ratio->interval.high) : "", ratio ? (ratio->differs ? "yes" : "no") : "",
                             bench_verdict_text(side), side.on_device ? number(side.on_device->median) : "",
                             side.device_bytes ? std::to_string(*side.device_bytes) : "", rate ? number(*rate) : "",
                             std::to_string(side.warmups), side.grown_bytes ? std::to_string(*side.grown_bytes) : ""});
      table.add(std::move(row));
    }
  }
  return table.csv();
}

bool is_same_setting(const Benchmark& a, const Benchmark& b) {
  const auto &a_types = a.report.input_types, &b_types = b.report.input_types;
  return a.model == b.model && a.batch == b.batch && a.threads == b.threads &&
         (a_types.empty() || b_types.empty() || a_types == b_types);
}

std::vector<BenchChange> compare_benchmarks(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after,
                                            double most) {
  std::vector<BenchChange> changes;
  for (const Benchmark& now : after) {
    const auto then =
        std::find_if(before.begin(), before.end(), [&](const Benchmark& one) { return is_same_setting(one, now); });
    if (then == before.end()) continue;
    for (const BenchSideReport& side : now.report.sides) {
      const auto old = std::find_if(then->report.sides.begin(), then->report.sides.end(),
                                    [&](const BenchSideReport& one) { return one.label == side.label; });
      if (old == then->report.sides.end()) continue;
      BenchChange& change = changes.emplace_back();
      change.what = setting_of(now) + ", " + without_controls(side.label);
      if (!old->rounds.empty()) change.before = old->wall.median;
      if (!side.rounds.empty()) change.after = side.wall.median;
      if (!old->rounds.empty() && !side.rounds.empty()) change.ratio = change_of(side.rounds, old->rounds, 0);
      change.is_slower = change.ratio && change.ratio->differs && change.ratio->value > 1 + most;
      change.is_worse = bench_is_wrong(side) && !bench_is_wrong(*old);
      if (bench_is_wrong(side)) change.remark = bench_verdict_text(side);
    }
  }
  return changes;
}

std::string changes_text(const std::vector<BenchChange>& changes, bool color) {
  Table table({"measurement", ">before", ">after", "change"});
  for (const BenchChange& change : changes)
    table.add({change.what, change.before > 0 ? seconds_text(change.before) : "-",
               change.after > 0 ? seconds_text(change.after) : "-",
               bench_ratio_text(change.ratio) + (change.is_slower ? ", too slow" : "") +
                   (change.remark.empty() ? "" : ", " + change.remark)},
              change.is_slower || change.is_worse ? bench_red : std::string_view());
  return table.text(3, color);
}

std::size_t count_of_others(const std::vector<Benchmark>& these, const std::vector<Benchmark>& those) {
  return static_cast<std::size_t>(std::count_if(these.begin(), these.end(), [&](const Benchmark& one) {
    return std::none_of(those.begin(), those.end(),
                        [&](const Benchmark& other) { return is_same_setting(one, other); });
  }));
}

bool has_finding(const std::vector<Benchmark>& benchmarks) {
  return std::any_of(benchmarks.begin(), benchmarks.end(), [](const Benchmark& benchmark) {
    return std::any_of(benchmark.report.sides.begin(), benchmark.report.sides.end(), bench_is_wrong);
  });
}

}  // namespace onnxkit::tools
