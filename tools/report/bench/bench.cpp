#include "tools/report/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/report/bench/bench_parts.h"
#include "tools/report/diagnostics.h"
#include "tools/report/table.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

/// "11.2 ms +-1.3%"
std::string bench_median_text(const Latency& latency) {
  std::string text = seconds_text(latency.median);
  if (!latency.interval || latency.median <= 0) return text;
  return text + fmt::format(" ±{:.1f}%", 50 * (latency.interval->high - latency.interval->low) / latency.median);
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
  const std::optional<double> rate = bench_rate(benchmark, side);
  row.insert(row.end(),
             {rate ? in_three_digits(*rate) : "-", seconds_text(side.first_seconds), seconds_text(side.load_seconds),
              std::to_string(side.warmups), std::to_string(side.wall.runs),
              side.grown_bytes ? "+" + bench_bytes_text(side.grown_bytes) : bench_bytes_text(side.peak_bytes)});
  if (device.bytes) row.push_back(bench_bytes_text(side.device_bytes));
  row.insert(row.end(), {bench_ratio_text(side.ratio), bench_verdict_text(side)});
  return row;
}

/// What the table does not say.
std::vector<std::string> bench_remarks(const Benchmark& benchmark) {
  const BenchReport& report = benchmark.report;
  std::vector<std::string> remarks;
  if (benchmark.failure) {
    remarks.push_back((report.cancelled ? "" : "failed: ") + bench_failure_text(*benchmark.failure));
    return remarks;
  }
  for (const BenchSideReport& side : report.sides) {
    const std::string label = without_controls(side.label);
    for (const std::string& warning : side.warnings)
      remarks.push_back(fmt::format("warning: {}: {}", label, without_controls(warning)));
    if (side.failure) {
      const std::string text = bench_failure_text(*side.failure);
      remarks.push_back(text.starts_with(label) ? text : label + ": " + text);
      continue;
    }
    const bool is_plain = side.verdict == Verdict::identical || side.verdict == Verdict::rounding;
    if (!is_plain || bench_is_wrong(side)) {
      if (!side.why.empty()) remarks.push_back(label + ": " + without_controls(side.why));
    }
    for (const std::string& note : side.notes) remarks.push_back(label + ": " + without_controls(note));
    if (!side.stationary && side.wall.runs > 0)
      remarks.push_back(fmt::format("{}: warming up ended after {} {}, before times were seen to settle", label,
                                    side.warmups, side.warmups == 1 ? "run" : "runs"));
  }
  const BenchSideReport* base = bench_base(report);
  if (base && base != &report.sides.front() && base != &report.sides.back())
    remarks.push_back(fmt::format("ratios are to {}, since {} was not measured", without_controls(base->label),
                                  without_controls(report.sides.front().label)));
  for (const std::string& warning : report.warnings) remarks.push_back("warning: " + without_controls(warning));
  if (!report.reached_goal && base)
    remarks.emplace_back(
        "warning: the figures are less precise than asked for; a longer --max-time allows more rounds");
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
    if (benchmark.failure) {
      text += "  " + painted(bench_red, bench_remarks(benchmark).front(), color) + "\n";
      continue;
    }
    text += fmt::format("  {}, {} {}, inputs {}, {:.1f} s\n{}\n",
                        report.processor.empty() ? "unknown processor" : without_controls(report.processor),
                        report.processors, report.processors == 1 ? "processor" : "processors",
                        without_controls(report.inputs), report.seconds, bench_inputs_text(report.input_types));
    const Table table = bench_table(benchmark);
    text += table.text(table.columns() - 1, color);
    for (const std::string& remark : bench_remarks(benchmark)) text += "  " + remark + "\n";
    text += bench_profiles_text(report);
  }
  return text + bench_summary_text(benchmarks);
}

std::string bench_markdown(const std::vector<Benchmark>& benchmarks) {
  std::string text;
  for (const Benchmark& benchmark : benchmarks) {
    text += (text.empty() ? "" : "\n") + markdown_text(setting_of(benchmark)) + "\n\n";
    if (!benchmark.failure) text += bench_table(benchmark).markdown();
    const std::vector<std::string> remarks = bench_remarks(benchmark);
    if (!remarks.empty() && !benchmark.failure) text += "\n";
    for (const std::string& remark : remarks) text += "- " + markdown_text(remark) + "\n";
    text += bench_profiles_markdown(benchmark.report);
  }
  return text + bench_summary_markdown(benchmarks);
}

std::string bench_remarks_text(const std::vector<Benchmark>& benchmarks) {
  std::string text;
  for (const Benchmark& benchmark : benchmarks)
    for (const std::string& remark : bench_remarks(benchmark)) text += setting_of(benchmark) + ": " + remark + "\n";
  return text;
}

bool has_finding(const std::vector<Benchmark>& benchmarks) {
  return std::any_of(benchmarks.begin(), benchmarks.end(), [](const Benchmark& benchmark) {
    return std::any_of(benchmark.report.sides.begin(), benchmark.report.sides.end(), bench_is_wrong);
  });
}

}  // namespace onnxkit::tools
