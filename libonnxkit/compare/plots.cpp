#include "libonnxkit/compare/plots.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "libonnxkit/base/dtype/small_float.h"
#include "libonnxkit/compare/metrics/pair_blocks.h"
#include "libonnxkit/compare/outcome/class_numbers.h"

namespace onnxkit::comparison {
namespace {

constexpr std::size_t most_pairs = 2000;

// Quarter decades from 1e-324 to beyond the largest double.
constexpr int lowest_decade = -324;
constexpr int bin_count = 4 * (309 - lowest_decade);

/// Finds the bin of a positive number: from a first guess by its power of two, no more than a few comparisons.
class Bins {
 public:
  Bins() {
    for (int i = 0; i < bin_count; ++i)
      edges_[static_cast<std::size_t>(i)] =
          static_cast<double>(std::pow(10.0L, lowest_decade + static_cast<long double>(i) / 4));
    edges_[bin_count] = std::numeric_limits<double>::infinity();
    std::size_t bin = 0;
    guesses_[0] = 0;
    for (std::size_t power = 1; power < guesses_.size(); ++power) {
      while (edges_[bin + 1] <= power_of_two(static_cast<int>(power) - 1023)) ++bin;
      guesses_[power] = bin;
    }
  }
  std::size_t of(double x) const {
    std::size_t bin = guesses_[std::bit_cast<std::uint64_t>(x) >> 52];
    while (edges_[bin + 1] <= x) ++bin;
    return bin;
  }

 private:
  std::array<double, bin_count + 1> edges_;
  std::array<std::size_t, 2047> guesses_;  ///< by the exponent's bits
};

struct Counts {
  std::vector<std::uint64_t> bins = std::vector<std::uint64_t>(bin_count);
  std::uint64_t zeros = 0;
};

void count_block(const Bins& bins, std::span<const double> a, std::span<const double> b, Counts& counts) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    const double distance = std::min(std::abs(b[i] - a[i]), std::numeric_limits<double>::max());
    if (distance == 0) {
      ++counts.zeros;
    } else {
      ++counts.bins[bins.of(distance)];
    }
  }
}

void take_pairs(const Elements& a, const Elements& b, std::size_t size, Scatter& scatter) {
  const std::size_t count = std::min(size, most_pairs);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = size / count * i + size % count * i / count;  // i * size / count without overflow
    double x = 0, y = 0;
    a.read(at, std::span(&x, 1));
    b.read(at, std::span(&y, 1));
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    scatter.a.push_back(x);
    scatter.b.push_back(y);
  }
}

}  // namespace

Scatter scatter_of(const Tensor& a, const Tensor& b, int threads) {
  Scatter scatter;
  if (!are_numbers(a.type()) || !are_numbers(b.type()) || a.dims() != b.dims()) return scatter;
  const Elements of_a(a), of_b(b);
  const auto size = static_cast<std::size_t>(a.size());
  take_pairs(of_a, of_b, size, scatter);
  static const Bins bins;
  Counts all;
  std::mutex mutex;
  over_chunks(size, threads, [&](std::size_t, std::size_t first, std::size_t end) {
    Counts counts;
    std::array<double, Elements::most> x, y;
    for (std::size_t at = first; at < end; at += Elements::most) {
      const std::size_t count = std::min(Elements::most, end - at);
      of_a.read(at, std::span(x.data(), count));
      of_b.read(at, std::span(y.data(), count));
      count_block(bins, std::span(x.data(), count), std::span(y.data(), count), counts);
    }
    const std::lock_guard lock(mutex);
    all.zeros += counts.zeros;
    for (std::size_t i = 0; i < counts.bins.size(); ++i) all.bins[i] += counts.bins[i];
  });
  scatter.zeros = all.zeros;
  const auto used = [](std::uint64_t count) { return count > 0; };
  const auto first = std::find_if(all.bins.begin(), all.bins.end(), used);
  if (first == all.bins.end()) return scatter;
  const auto last = std::find_if(all.bins.rbegin(), all.bins.rend(), used).base();
  const auto decade = (first - all.bins.begin()) / 4;
  scatter.lowest_exponent = lowest_decade + static_cast<int>(decade);
  scatter.histogram.assign(all.bins.begin() + 4 * decade, last);
  return scatter;
}

std::optional<ClassMaps> class_maps_of(const Tensor& a, const Tensor& b) {
  const auto of_a = ClassNumbers::of(a), of_b = ClassNumbers::of(b);
  if (!of_a || !of_b || a.dims() != b.dims() || a.size() == 0) return std::nullopt;
  const auto read = [&](std::size_t picture) -> std::optional<ClassMaps> {
    ClassMaps maps;
    maps.height = of_a->height();
    maps.width = of_a->width();
    maps.a.resize(of_a->pixels());
    maps.b.resize(of_a->pixels());
    for (std::size_t at = 0; at < maps.a.size(); at += Elements::most) {
      const std::size_t count = std::min(Elements::most, maps.a.size() - at);
      if (!of_a->read(picture, at, std::span(maps.a).subspan(at, count))) return std::nullopt;
      if (!of_b->read(picture, at, std::span(maps.b).subspan(at, count))) return std::nullopt;
    }
    return maps;
  };
  for (std::size_t picture = 0; picture < static_cast<std::size_t>(of_a->batch()); ++picture) {
    auto maps = read(picture);
    if (!maps || maps->a != maps->b) return maps;
  }
  return read(0);
}

}  // namespace onnxkit::comparison
