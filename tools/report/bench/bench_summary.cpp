#include <algorithm>

#include "tools/report/bench/bench_parts.h"
#include "tools/report/diagnostics.h"
#include "tools/report/table.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

/// How much longer one side took than another that was measured beside it; nothing for too few rounds.
std::optional<Ratio> ratio_beside(const BenchSideReport& side, const BenchSideReport& base, std::uint64_t seed) {
  BenchSideReport times;
  times.rounds = side.rounds;
  summarize(times, base.rounds, seed);
  return times.ratio;
}

/// Whether it surely takes longer than the side with the lowest median; nothing where there were too few rounds to tell.
std::optional<bool> is_slower(const BenchSideReport& side, const BenchSideReport& best, const Benchmark& benchmark) {
  const BenchSideReport* base = bench_base(benchmark.report);
  const std::optional<Ratio> ratio = base == &best   ? side.ratio
                                     : base == &side ? best.ratio
                                                     : ratio_beside(side, best, benchmark.seed.value_or(0));
  if (!ratio) return std::nullopt;
  return ratio->differs && (base == &side ? ratio->value < 1 : ratio->value > 1);
}

std::string fastest_text(const Benchmark& benchmark) {
  std::string text;
  for (const std::string& label : fastest_of(benchmark)) text += (text.empty() ? "" : ", ") + without_controls(label);
  return text.empty() ? "-" : text;
}

Table summary_table(const std::vector<Benchmark>& benchmarks) {
  std::vector<std::string> labels;
  for (const Benchmark& benchmark : benchmarks) {
    for (const BenchSideReport& side : benchmark.report.sides)
      if (std::find(labels.begin(), labels.end(), side.label) == labels.end()) labels.push_back(side.label);
  }
  std::vector<std::string> titles = {"model"};
  for (const std::string& label : labels) titles.push_back(">" + without_controls(label));
  titles.emplace_back("fastest");
  Table table(std::move(titles));
  for (const Benchmark& benchmark : benchmarks) {
    std::vector<std::string> row = {setting_of(benchmark)};
    for (const std::string& label : labels) {
      const auto& sides = benchmark.report.sides;
      const auto side = std::find_if(sides.begin(), sides.end(),
                                     [&](const BenchSideReport& candidate) { return candidate.label == label; });
      if (side == sides.end() || side->failure || side->wall.runs == 0) {
        const bool has_failed = benchmark.failure ? !benchmark.report.cancelled : side != sides.end() && side->failure;
        row.emplace_back(has_failed ? "failed" : "-");
        continue;
      }
      row.push_back(seconds_text(side->wall.median) + (bench_is_wrong(*side) ? " (wrong)" : ""));
    }
    row.push_back(fastest_text(benchmark));
    table.add(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<std::string> fastest_of(const Benchmark& benchmark) {
  if (benchmark.fastest) return *benchmark.fastest;
  const auto& sides = benchmark.report.sides;
  const BenchSideReport* best = nullptr;
  for (const BenchSideReport& side : sides) {
    if (bench_is_wrong(side) || side.wall.runs == 0) continue;  // a wrong answer is none, however fast
    if (!best || side.wall.median < best->wall.median) best = &side;
  }
  std::vector<std::string> labels;
  for (const BenchSideReport& side : sides) {
    if (!best || bench_is_wrong(side) || side.wall.runs == 0) continue;
    const auto slower = &side == best ? std::optional(false) : is_slower(side, *best, benchmark);
    if (!slower) return {};
    if (!*slower) labels.push_back(side.label);
  }
  return labels;
}

std::string bench_summary_text(const std::vector<Benchmark>& benchmarks) {
  if (benchmarks.size() < 2) return {};
  const Table table = summary_table(benchmarks);
  return "\nsummary of medians\n" + table.text(0, false);
}

std::string bench_summary_markdown(const std::vector<Benchmark>& benchmarks) {
  return benchmarks.size() < 2 ? std::string() : "\nSummary of medians\n\n" + summary_table(benchmarks).markdown();
}

}  // namespace onnxkit::tools
