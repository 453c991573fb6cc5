#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "onnxkit/bench.h"

// What measured times say, and how surely. Nothing here assumes a normal distribution: times of programs have long tails, and runs beside
// each other on one machine are disturbed together.
namespace onnxkit::benching {

/// The smallest value below which the share `q` of the values lies, between neighbours by interpolation. Precondition: not empty.
double quantile(std::vector<double> values, double q);
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

struct Weighted {
  double value = 0, weight = 1;
};
/// The same of values that count as often as their weights say. Precondition: not empty, weights above 0.
double weighted_quantile(std::vector<Weighted> values, double q);

/// Two order statistics between which the median of the distribution lies with at least 95 % (binomial test; exact for independent draws of any
/// distribution). Nothing for fewer than 6 values, which cannot tell it.
std::optional<Interval> median_interval(std::vector<double> values);

/// Median, tails and the interval of the median, of runs in groups that were measured one behind the other. Runs of a group are disturbed together,
/// so the interval is that of the groups' medians, and each group has the same weight in the tails: a side that is faster in one start has more runs
/// in the groups of that.
Latency latency_of(const std::vector<std::vector<double>>& groups);

/// How much longer `times` are than `base`, round by round: the median of the quotients of the two medians in each round, which what disturbs
/// both does not move, with a bootstrap interval of 99.99 %. Nothing for fewer than 6 rounds.
std::optional<Ratio> ratio_of(std::span<const double> times, std::span<const double> base, std::uint64_t seed);

/// The same of times that were not measured beside each other: the quotient of the two medians.
std::optional<Ratio> ratio_of_medians(std::span<const double> times, std::span<const double> base, std::uint64_t seed);

/// Of fewer rounds neither the interval of a median nor a ratio can be told.
inline constexpr std::size_t least_compared_rounds = 6;

/// Below this a difference of two runs of the same program is ordinary: where the pages of a process lie changes it by about so much.
inline constexpr double least_difference = 0.01;

}  // namespace onnxkit::benching
