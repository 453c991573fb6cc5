#include "libonnxkit/bench/rounds.h"

#include <algorithm>
#include <numeric>

#include "libonnxkit/bench/bench.h"

namespace onnxkit::benching {
namespace {

/// Empty when one run lacks the time.
std::vector<std::vector<double>> times_of(const std::vector<BenchRound>& rounds, std::optional<double> RunTime::*kind) {
  std::vector<std::vector<double>> times;
  for (const BenchRound& round : rounds) {
    auto& group = times.emplace_back();
    for (const RunTime& run : round) {
      if (!(run.*kind)) return {};
      group.push_back(*(run.*kind));
    }
  }
  return times;
}

/// The mean of each round: see BenchSideReport::cpu. Empty when one run lacks the time.
std::vector<std::vector<double>> cpu_means(const std::vector<BenchRound>& rounds) {
  std::vector<std::vector<double>> means;
  for (const std::vector<double>& round : times_of(rounds, &RunTime::cpu))
    if (!round.empty())
      means.push_back({std::accumulate(round.begin(), round.end(), 0.0) / static_cast<double>(round.size())});
  return means;
}

}  // namespace

std::vector<std::vector<double>> walls(const std::vector<BenchRound>& rounds) {
  std::vector<std::vector<double>> times;
  for (const BenchRound& round : rounds) {
    auto& group = times.emplace_back();
    for (const RunTime& run : round) group.push_back(run.wall);
  }
  return times;
}

std::vector<double> medians(const std::vector<std::vector<double>>& groups) {
  std::vector<double> values;
  for (const std::vector<double>& group : groups)
    if (!group.empty()) values.push_back(median(group));
  return values;
}

bool is_precise(const std::optional<Interval>& interval, double value, double goal) {
  return interval && interval->high - interval->low <= 2 * goal * value;
}

bool has_precise_ratio(const std::optional<Ratio>& ratio, double goal) {
  return !ratio || is_precise(ratio->interval, ratio->value, goal);
}

std::optional<Ratio> wall_ratio(const std::vector<BenchRound>& rounds, const std::vector<BenchRound>& base,
                                std::uint64_t seed) {
  return ratio_of(medians(walls(rounds)), medians(walls(base)), seed);
}

void thin_out(std::vector<BenchRound>& rounds) {
  constexpr std::size_t most = 21;
  for (BenchRound& round : rounds) {
    if (round.size() <= most) continue;
    std::sort(round.begin(), round.end(), [](const RunTime& a, const RunTime& b) { return a.wall < b.wall; });
    BenchRound kept;
    for (std::size_t i = 0; i < most; ++i) kept.push_back(round[i * (round.size() - 1) / (most - 1)]);
    round = std::move(kept);
  }
}

void summarize(BenchSideReport& side, const std::vector<BenchRound>& base, std::uint64_t seed) {
  const auto wall = walls(side.rounds), cpu = cpu_means(side.rounds),
             on_device = times_of(side.rounds, &RunTime::device);
  side.wall = latency_of(wall);
  side.cpu.reset();
  side.on_device.reset();
  side.ratio.reset();
  side.cpu_ratio.reset();
  if (!cpu.empty()) {
    side.cpu = latency_of(cpu);
    side.cpu->runs = side.wall.runs;
  }
  if (!on_device.empty()) side.on_device = latency_of(on_device);
  if (base.empty()) return;
  side.ratio = wall_ratio(side.rounds, base, seed);
  const auto base_cpu = cpu_means(base);
  if (!cpu.empty() && !base_cpu.empty()) side.cpu_ratio = ratio_of(medians(cpu), medians(base_cpu), seed);
}

bool is_as_precise(const BenchSideReport& side, double goal) {
  if (side.failure) return true;
  return is_precise(side.wall.interval, side.wall.median, goal) && has_precise_ratio(side.ratio, goal);
}

std::optional<Ratio> change_of(const std::vector<BenchRound>& after, const std::vector<BenchRound>& before,
                               std::uint64_t seed) {
  return ratio_of_medians(medians(walls(after)), medians(walls(before)), seed);
}

}  // namespace onnxkit::benching
