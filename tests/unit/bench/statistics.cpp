#include "libonnxkit/bench/statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "libonnxkit/bench/gpus.h"
#include "libonnxkit/bench/machine.h"
#include "libonnxkit/bench/stationary.h"
#include "tests/unit/sample.h"

namespace onnxkit::benching {
namespace {

/// Times on a disturbed machine: some rounds are slow for all sides, single runs have a long tail, and each side has its own jitter.
class NoisyMachine {
 public:
  explicit NoisyMachine(std::uint64_t seed) : random_(seed) {}

  /// One round of two sides of which the second takes `factor` times as long.
  std::pair<double, double> round(double factor) {
    const double load = uniform_(random_) < 0.3 ? 1 + 2 * uniform_(random_) : 1;
    return {load * jitter(), factor * load * jitter()};
  }

 private:
  double jitter() { return 1e-3 * std::exp(0.02 * normal_(random_)) * (uniform_(random_) < 0.05 ? 3 : 1); }

  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
};

std::optional<Ratio> measured(double factor, std::size_t rounds, std::uint64_t seed) {
  NoisyMachine machine(seed);
  std::vector<double> first, second;
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto [a, b] = machine.round(factor);
    first.push_back(a);
    second.push_back(b);
  }
  return ratio_of(second, first, seed);
}

TEST_CASE("quantiles lie between neighbours") {
  CHECK(quantile({3, 1, 2}, 0.5) == 2);
  CHECK(quantile({1, 2}, 0.5) == 1.5);
  CHECK(quantile({0, 10}, 0.9) == 9);
  CHECK(quantile({7}, 0.99) == 7);
}

/// Of the resamples of n values, the share whose median is among the lowest `rank` values: those with more than half of their draws there.
double share_of_resamples(std::size_t n, std::size_t rank) {
  const double p = static_cast<double>(rank) / static_cast<double>(n), size = static_cast<double>(n);
  double share = 0;
  for (std::size_t k = (n + 1) / 2; k <= n; ++k) {
    const auto count = static_cast<double>(k);
    share += std::exp(std::lgamma(size + 1) - std::lgamma(count + 1) - std::lgamma(size - count + 1) +
                      count * std::log(p) + (size - count) * std::log1p(-p));
  }
  return share;
}

TEST_CASE("the interval of a ratio leaves out what a bootstrap of medians does") {
  for (const std::size_t n : {7U, 31U, 101U, 501U}) {
    std::vector<double> times, base(n, 1);
    for (std::size_t i = 0; i < n; ++i) times.push_back(static_cast<double>(i + 1));
    const auto ratio = ratio_of(times, base, 1);
    REQUIRE(ratio);
    std::size_t rank = 1;
    while (share_of_resamples(n, rank) < 5e-5) ++rank;
    const double low = static_cast<double>(rank), spread = 2 + 0.02 * static_cast<double>(n);
    CHECK(std::abs(ratio->interval.low - low) < spread);
    CHECK(std::abs(static_cast<double>(n) + 1 - ratio->interval.high - low) < spread);
    CHECK(ratio->value == static_cast<double>(n + 1) / 2);
  }
}

TEST_CASE("middle values of an even number of draws lie beside each other") {
  std::vector<double> times, base(40, 1);
  for (int i = 0; i < 40; ++i) times.push_back(i < 20 ? 1 : 3);
  const auto ratio = ratio_of(times, base, 1);
  REQUIRE(ratio);
  CHECK(ratio->value == 2);
  CHECK(ratio->interval.low == 1);
  CHECK(ratio->interval.high == 3);
}

TEST_CASE("values count as often as their weights say") {
  const auto weighted = [](std::vector<double> values, double q) {
    std::vector<Weighted> all;
    for (const double value : values) all.push_back({value, 0.25});
    return weighted_quantile(std::move(all), q);
  };
  for (const double q : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    CHECK(weighted({3, 1, 2, 7, 5}, q) == doctest::Approx(quantile({3, 1, 2, 7, 5}, q)));
    CHECK(weighted({7}, q) == 7);
  }
  CHECK(weighted_quantile({{1, 1}, {2, 8}, {3, 1}}, 0.5) == doctest::Approx(2));
  CHECK(weighted_quantile({{1, 8}, {2, 1}, {3, 1}}, 0.5) == doctest::Approx(1 + 2.75 / 4.5));
}

TEST_CASE("the tail of times lies above their median, however many runs the fast rounds have") {
  std::vector<std::vector<double>> groups;
  for (int i = 0; i < 10; ++i)
    groups.push_back(i % 2 == 0 ? std::vector<double>(1000, 1e-5) : std::vector<double>{1e-2, 1.1e-2});
  const Latency latency = latency_of(groups);
  CHECK(latency.runs == 5010);
  CHECK(latency.median <= latency.p90);
  CHECK(latency.p90 <= latency.p99);
  CHECK(latency.p90 > 9e-3);
}

TEST_CASE("the interval of a median has the ranks of the binomial test") {
  CHECK_FALSE(median_interval({1, 2, 3, 4, 5}));
  // For 10 draws the 2nd and 9th, with 97.9 %; tables of the sign test have the same.
  const auto interval = median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  REQUIRE(interval);
  CHECK(interval->low == 2);
  CHECK(interval->high == 9);
  std::vector<double> many;
  for (int i = 1; i <= 100; ++i) many.push_back(i);
  CHECK(median_interval(many)->low == 40);
  CHECK(median_interval(many)->high == 61);
  many.resize(4000, 50);
  CHECK(median_interval(many)->low == 50);
}

TEST_CASE("the interval of a median holds it in 95 of 100 samples of a skew distribution") {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> times(1);
  int held = 0;
  constexpr int trials = 2000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> sample(30);
    for (double& one : sample) one = times(random);
    const auto interval = median_interval(sample);
    held += interval->low <= std::log(2) && std::log(2) <= interval->high;
  }
  CHECK(held >= 0.95 * trials);
}

TEST_CASE("no difference is told between equal sides of a disturbed machine") {
  constexpr std::uint64_t trials = tests::sampled(100, 30);
  int told = 0;
  for (std::uint64_t seed = 0; seed < trials; ++seed) told += measured(1, 40, seed)->differs;
  CHECK(told == 0);
}

TEST_CASE("a slowdown of 5 % is told in nearly all measurements") {
  constexpr std::uint64_t trials = tests::sampled(100, 30);
  int told = 0;
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    const auto ratio = measured(1.05, 100, seed);
    told += ratio->differs && ratio->value > 1.03 && ratio->value < 1.07;
  }
  CHECK(told >= 0.95 * trials);
}

TEST_CASE("ratios of rounds that were not measured together") {
  std::vector<double> before, after;
  for (int i = 0; i < 20; ++i) {
    before.push_back(1 + 0.001 * (i % 5));
    after.push_back(1.2 + 0.001 * (i % 7));
  }
  const auto ratio = ratio_of_medians(after, before, 0);
  REQUIRE(ratio);
  CHECK(ratio->differs);
  CHECK(ratio->value == doctest::Approx(1.2).epsilon(0.01));
  CHECK_FALSE(ratio_of_medians(before, before, 0)->differs);
  CHECK_FALSE(ratio_of_medians(std::vector<double>{1, 2}, before, 0));
  CHECK_FALSE(ratio_of(std::vector<double>(10, 0), std::vector<double>(10, 1), 0));  // a clock that stands still
}

TEST_CASE("latencies come from all runs, their interval from rounds") {
  const Latency latency = latency_of({{1, 2, 3}, {}, {2}, {2, 2}, {2}, {2}, {2}, {2}});
  CHECK(latency.runs == 10);
  CHECK(latency.median == 2);
  CHECK(latency.fastest == 1);
  REQUIRE(latency.interval);
  CHECK(latency.interval->low == 2);
  CHECK(latency_of({}).runs == 0);
}

TEST_CASE("a warm-up ends when times no longer fall") {
  Stationary falling;
  for (const double time : {10.0, 8.0, 6.0, 5.0, 4.2}) falling.add(time);
  CHECK_FALSE(falling.reached());
  for (const double time : {4.0, 4.1, 4.0, 4.05}) falling.add(time);
  CHECK(falling.reached());
}

TEST_CASE("what disturbs a measurement is told") {
  MachineState before, after;
  after.wall = 10;
  after.busy = 12;
  CHECK(disturbances(before, after, 12).texts.empty());
  CHECK(disturbances(before, after, 2).texts.size() == 1);
  after.stolen = 1;
  after.throttles = 3;
  before.megahertz = {3000};
  after.megahertz = {2000};
  CHECK(disturbances(before, after, 12).texts.size() == 3);
  after.throttles = 1;
  const auto found = disturbances(before, after, 12).texts;
  REQUIRE(found.size() == 3);
  CHECK(found[1] == "the processor slowed down once because of its heat");
  after.held_back = 0.05;
  CHECK(disturbances(before, after, 12).texts.size() == 3);
  after.held_back = 2;
  CHECK(disturbances(before, after, 12).texts.size() == 4);
}

TEST_CASE("what disturbs a GPU is told") {
  const GpuState calm;
  CHECK(gpu_disturbances(calm, calm, {.all = 20}).empty());
  using Texts = std::vector<std::string>;
  CHECK(gpu_disturbances({.others = 2, .busy = 90}, calm, {}) == Texts{"2 other processes use the GPU"});
  CHECK(gpu_disturbances({.others = 1}, calm, {}) == Texts{"1 other process uses the GPU"});
  CHECK(gpu_disturbances({.busy = 40}, calm, {}) ==
        Texts{"the GPU was busy for 40 % of the time before this was measured"});
  CHECK(gpu_disturbances({.hot_seconds = 7}, {.hot_seconds = 8.5}, {.all = 20, .hot = 3}) ==
        Texts{"the GPU was held back for 1.50 s because of its heat"});
  CHECK(gpu_disturbances(calm, calm, {.all = 20, .hot = 3, .weak = 1}) ==
        Texts{"the GPU was held back because of its heat after 3 of 20 rounds",
              "the GPU was held back because of the limit of its power after 1 of 20 rounds"});
}

}  // namespace
}  // namespace onnxkit::benching
