#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libonnxkit/bench/statistics.h"
#include "onnxkit/bench.h"

// What the measured rounds of a side tell.
namespace onnxkit::benching {

/// Wall times by round.
std::vector<std::vector<double>> walls(const std::vector<BenchRound>& rounds);
/// Of groups that are not empty.
std::vector<double> medians(const std::vector<std::vector<double>>& groups);
/// Ratios of the medians of rounds.
std::optional<Ratio> wall_ratio(const std::vector<BenchRound>& rounds, const std::vector<BenchRound>& base,
                                std::uint64_t seed);

/// The interval lies within `goal` of the value, as a share of it, to both sides.
bool is_precise(const std::optional<Interval>& interval, double value, double goal);
/// One that cannot be told keeps nobody waiting.
bool has_precise_ratio(const std::optional<Ratio>& ratio, double goal);

/// Keeps some runs of each round, evenly spaced by their times: a tiny model runs a thousand times in one.
void thin_out(std::vector<BenchRound>& rounds);

}  // namespace onnxkit::benching
