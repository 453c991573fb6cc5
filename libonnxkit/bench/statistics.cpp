#include "libonnxkit/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace onnxkit::benching {
namespace {

constexpr int resamples = 50'000;
constexpr double outside = 1e-4;  // share of the resamples that the interval of a ratio leaves out

/// The largest k for which fewer than 2.5 % of binomial(n, 1/2) lie below k.
std::size_t rank_below_median(std::size_t n) {
  double probability = std::exp2(-static_cast<double>(n)), sum = 0;
  std::size_t k = 0;
  for (; k < n; ++k) {
    sum += probability;
    if (sum > 0.025) break;
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return k;
}

/// Medians of samples that are drawn from a sample with replacement. A draw is the value at a uniform place, so the middle one of n draws is the value
/// at the middle one of n uniform places. That is drawn itself: its distribution is the beta distribution.
class Resampler {
 public:
  explicit Resampler(std::uint64_t seed) : random_(seed) {}

  std::vector<double> medians(std::span<const double> values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size(), rank = (n + 1) / 2, above = n - rank;
    const auto at = [&](double place) {
      return sorted[std::min(static_cast<std::size_t>(place * static_cast<double>(n)), n - 1)];
    };
    std::gamma_distribution<double> gaps_below(static_cast<double>(rank)), gaps_above(static_cast<double>(above + 1));
    std::vector<double> medians(resamples);
    for (double& one : medians) {
      const double below = gaps_below(random_), place = below / (below + gaps_above(random_));
      one = at(place);
      if (n % 2 == 0) one = (one + at(next_place(place, above))) / 2;
    }
    return medians;
  }

 private:
  /// The lowest of so many uniform places above this one.
  double next_place(double place, std::size_t above) {
    std::uniform_real_distribution<double> any;
    return 1 - (1 - place) * std::pow(any(random_), 1 / static_cast<double>(above));
  }

  std::mt19937_64 random_;
};

Ratio ratio_from(double value, std::vector<double> resampled) {
  Ratio ratio;
  ratio.value = value;
  ratio.interval = {quantile(resampled, outside / 2), quantile(std::move(resampled), 1 - outside / 2)};
  ratio.differs = ratio.interval.low > 1 + least_difference || ratio.interval.high < 1 - least_difference;
  return ratio;
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double weighted_quantile(std::vector<Weighted> values, double q) {
  std::sort(values.begin(), values.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double all = 0;
  for (const Weighted& one : values) all += one.weight;
  // Each value lies in the middle of its weight; the least at 0 and the greatest at 1, as those of quantile().
  const double first = values.front().weight / 2, last = all - values.back().weight / 2;
  const double place = first + q * (last - first);
  double before = first;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double behind = before + (values[i].weight + values[i + 1].weight) / 2;
    if (behind >= place)
      return values[i].value + (place - before) / (behind - before) * (values[i + 1].value - values[i].value);
    before = behind;
  }
  return values.back().value;
}

std::optional<Interval> median_interval(std::vector<double> values) {
  constexpr std::size_t most = 1000;  // beyond this the powers of 1/2 underflow, and the normal law holds
  if (values.size() < least_compared_rounds) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const std::size_t rank = values.size() <= most ? rank_below_median(values.size())
                                                 : static_cast<std::size_t>(std::floor(n / 2 - 0.98 * std::sqrt(n)));
  if (rank == 0) return std::nullopt;
  return Interval{values[rank - 1], values[values.size() - rank]};
}

Latency latency_of(const std::vector<std::vector<double>>& groups) {
  std::vector<Weighted> all;
  std::vector<double> medians;
  for (const std::vector<double>& group : groups) {
    for (const double time : group) all.push_back({time, 1 / static_cast<double>(group.size())});
    if (!group.empty()) medians.push_back(median(group));
  }
  Latency latency;
  latency.runs = all.size();
  if (all.empty()) return latency;
  const auto is_faster = [](const Weighted& a, const Weighted& b) { return a.value < b.value; };
  latency.fastest = std::min_element(all.begin(), all.end(), is_faster)->value;
  latency.median = median(medians);
  latency.p90 = weighted_quantile(all, 0.9);
  latency.p99 = weighted_quantile(std::move(all), 0.99);
  latency.interval = median_interval(medians);
  return latency;
}

std::optional<Ratio> ratio_of(std::span<const double> times, std::span<const double> base, std::uint64_t seed) {
  const std::size_t rounds = std::min(times.size(), base.size());
  if (rounds < least_compared_rounds) return std::nullopt;
  std::vector<double> quotients;
  for (std::size_t i = 0; i < rounds; ++i) {
    if (!(times[i] > 0) || !(base[i] > 0)) return std::nullopt;
    quotients.push_back(times[i] / base[i]);
  }
  Resampler resampler(seed);
  return ratio_from(median(quotients), resampler.medians(quotients));
}

std::optional<Ratio> ratio_of_medians(std::span<const double> times, std::span<const double> base, std::uint64_t seed) {
  const auto is_time = [](double time) { return time > 0; };
  if (times.size() < least_compared_rounds || base.size() < least_compared_rounds ||
      !std::all_of(times.begin(), times.end(), is_time) || !std::all_of(base.begin(), base.end(), is_time))
    return std::nullopt;
  Resampler resampler(seed);
  std::vector<double> quotients = resampler.medians(times);
  const std::vector<double> divisors = resampler.medians(base);
  for (std::size_t i = 0; i < quotients.size(); ++i) quotients[i] /= divisors[i];
  return ratio_from(median({times.begin(), times.end()}) / median({base.begin(), base.end()}), std::move(quotients));
}

}  // namespace onnxkit::benching
