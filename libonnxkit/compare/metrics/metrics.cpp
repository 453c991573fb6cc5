#include "libonnxkit/compare/metrics/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "libonnxkit/base/dtype/small_float.h"
#include "libonnxkit/compare/metrics/metrics_kernels.h"
#include "libonnxkit/compare/metrics/pair_blocks.h"
#include "libonnxkit/compare/metrics/ulps.h"
#include "libonnxkit/compare/metrics/worst.h"
#include "libonnxkit/compare/outcome/tensor_forms.h"

namespace onnxkit::comparison {
namespace {

template <class Real>
struct CentredSums {
  Sum<Real> a, b, d, aa, bb, ad, dd;

  void add(const Centred<Real>& block) {
    a.add(block.a);
    b.add(block.b);
    d.add(block.d);
    aa.add(block.aa);
    bb.add(block.bb);
    ad.add(block.ad);
    dd.add(block.dd);
  }
  void merge(const CentredSums& other) {
    for (const auto sum : {&CentredSums::a, &CentredSums::b, &CentredSums::d, &CentredSums::aa, &CentredSums::bb,
                           &CentredSums::ad, &CentredSums::dd})
      (this->*sum).add(other.*sum);
  }
  Centred<Real> value() const {
    return {a.value(), b.value(), d.value(), aa.value(), bb.value(), ad.value(), dd.value()};
  }
};

/// What one pass over the tensors finds.
template <class Real>
struct FirstSums {
  std::uint64_t compared = 0, equal = 0, nan_mismatches = 0, inf_mismatches = 0, sign_flips = 0, nonzero_a = 0;
  Real least_a = std::numeric_limits<Real>::infinity(), greatest_a = -std::numeric_limits<Real>::infinity();
  Real least_b = std::numeric_limits<Real>::infinity(), greatest_b = -std::numeric_limits<Real>::infinity();
  Real max_absolute = 0, max_relative = 0;
  Sum<Real> a, b, aa, bb, ab, d, absolute, square, relative;
  double max_ulps = 0;
  Sum<double> ulps;
  CentredSums<Real> centred;  ///< around the guessed means

  void merge(const FirstSums& other) {
    compared += other.compared;
    equal += other.equal;
    nan_mismatches += other.nan_mismatches;
    inf_mismatches += other.inf_mismatches;
    sign_flips += other.sign_flips;
    nonzero_a += other.nonzero_a;
    least_a = std::min(least_a, other.least_a);
    greatest_a = std::max(greatest_a, other.greatest_a);
    least_b = std::min(least_b, other.least_b);
    greatest_b = std::max(greatest_b, other.greatest_b);
    max_absolute = std::max(max_absolute, other.max_absolute);
    max_relative = std::max(max_relative, other.max_relative);
    max_ulps = std::max(max_ulps, other.max_ulps);
    for (const auto sum : {&FirstSums::a, &FirstSums::b, &FirstSums::aa, &FirstSums::bb, &FirstSums::ab, &FirstSums::d,
                           &FirstSums::absolute, &FirstSums::square, &FirstSums::relative})
      (this->*sum).add(other.*sum);
    ulps.add(other.ulps);
    centred.merge(other.centred);
  }
  void add(const Moments<Real>& block, std::size_t count) {
    compared += count;
    a.add(block.a);
    b.add(block.b);
    aa.add(block.aa);
    bb.add(block.bb);
    ab.add(block.ab);
    least_a = std::min(least_a, block.least_a);
    greatest_a = std::max(greatest_a, block.greatest_a);
    least_b = std::min(least_b, block.least_b);
    greatest_b = std::max(greatest_b, block.greatest_b);
    nonzero_a += static_cast<std::uint64_t>(block.nonzero_a);
  }
  void add(const Differences<Real>& block, std::size_t count) {
    equal += count - static_cast<std::uint64_t>(block.unequal);
    sign_flips += static_cast<std::uint64_t>(block.sign_flips);
    d.add(block.sum);
    absolute.add(block.absolute);
    square.add(block.square);
    max_absolute = std::max(max_absolute, block.greatest);
  }
  void add(const Quotients<Real>& block) {
    relative.add(block.sum);
    max_relative = std::max(max_relative, block.greatest);
  }
  void add(const UlpDistances& block) {
    ulps.add(block.sum);
    max_ulps = std::max(max_ulps, block.largest);
  }
};

/// Leaves only pairs that are finite on both sides; left_out(i) sees the others.
template <class Real, class F>
void keep_finite(PairBlock<Real>& block, F&& left_out) {
  constexpr std::size_t run = 64;
  Real *a = block.a.data(), *b = block.b.data();
  std::size_t kept = 0;
  const auto keep = [&](std::size_t from, std::size_t count) {
    if (kept < from) {
      std::copy_n(a + from, count, a + kept);
      std::copy_n(b + from, count, b + kept);
    }
    std::iota(block.place.begin() + kept, block.place.begin() + kept + count, static_cast<std::uint32_t>(from));
    kept += count;
  };
  for (std::size_t from = 0; from < block.size; from += run) {
    const std::size_t count = std::min(run, block.size - from);
    if (all_finite(a + from, b + from, count)) {
      keep(from, count);
      continue;
    }
    for (std::size_t i = from; i < from + count; ++i) {
      if (std::isfinite(a[i]) && std::isfinite(b[i]))
        keep(i, 1);
      else
        left_out(i);
    }
  }
  block.gaps = kept < block.size;
  block.size = kept;
}

template <class Real>
class Comparison {
 public:
  Comparison(const Tensor& a, const Tensor& b, std::size_t worst, int threads)
      : a_(a), b_(b), elements_(static_cast<std::size_t>(a.size())), threads_(threads), worst_(worst) {
    ulp_type_ = coarser_type(a.type(), b.type());
  }

  void run() {
    means_ = guess_means();
    const auto parts =
        sums_by_chunk<FirstSums<Real>>([this](std::size_t first, std::size_t end) { return first_sums(first, end); });
    for (const auto& part : parts) sums_.merge(part);
  }

  /// False where double is too narrow for the numbers, their squares or integers.
  bool fits_double() const;
  Metrics metrics();

 private:
  template <class Part, class F>
  std::vector<Part> sums_by_chunk(F&& part) {
    std::vector<Part> parts((elements_ + chunk_elements - 1) / chunk_elements);
    over_chunks(elements_, threads_,
                [&](std::size_t chunk, std::size_t first, std::size_t end) { parts[chunk] = part(first, end); });
    return parts;
  }
  /// Reads pairs; true when the packed elements of both sides are the same.
  bool read(std::size_t first, std::size_t end, PairBlock<Real>& block) const;
  FirstSums<Real> first_sums(std::size_t first, std::size_t end);
  void add_block(PairBlock<Real>& block, bool same, FirstSums<Real>& sums, Worst& worst) const;
  void count_left_out(const PairBlock<Real>& block, std::size_t i, FirstSums<Real>& sums, Worst& worst) const;
  void offer_block(const PairBlock<Real>& block, Real greatest, Worst& worst) const;
  UlpDistances ulps(const PairBlock<Real>& block) const;
  /// Calls body for the finite pairs of each block.
  template <class F>
  void finite_blocks(std::size_t first, std::size_t end, F&& body) const;
  Means<Real> guess_means() const;
  void fit_line(Metrics& metrics);
  Centred<Real> centred_sums();
  Real residual_sum(Real slope, Real shift);

  const Elements a_, b_;
  const std::size_t elements_;
  const int threads_;
  ElementType ulp_type_ = ElementType::undefined;
  std::mutex mutex_;
  Worst worst_;
  FirstSums<Real> sums_;
  Means<Real> means_;
};

template <class Real>
bool Comparison<Real>::read(std::size_t first, std::size_t end, PairBlock<Real>& block) const {
  const std::size_t size = std::min(Elements::most, end - first);
  block.first = first;
  block.size = size;
  block.gaps = false;
  a_.read(first, std::span(block.a.data(), size));
  bool same = false;
  if (a_.type() == b_.type()) {
    const auto x = a_.bytes(first, size), y = b_.bytes(first, size);
    same = std::memcmp(x.data(), y.data(), x.size()) == 0;
  }
  if (same) {
    std::copy_n(block.a.begin(), size, block.b.begin());
  } else {
    b_.read(first, std::span(block.b.data(), size));
  }
  a_.prefetch(first + size);
  b_.prefetch(first + size);
  return same;
}

template <class Real>
FirstSums<Real> Comparison<Real>::first_sums(std::size_t first, std::size_t end) {
  FirstSums<Real> sums;
  PairBlock<Real> block;
  std::unique_lock lock(mutex_);
  Worst worst = Worst::beyond(worst_);
  lock.unlock();
  for (std::size_t at = first; at < end; at += Elements::most) {
    const bool same = read(at, end, block);
    add_block(block, same, sums, worst);
  }
  lock.lock();
  worst_.merge(worst);
  return sums;
}

template <class Real>
void Comparison<Real>::add_block(PairBlock<Real>& block, bool same, FirstSums<Real>& sums, Worst& worst) const {
  auto sums_of = moments(block.a.data(), block.b.data(), block.size);
  if (!std::isfinite(sums_of.aa + sums_of.bb)) {  // infinity, NaN, or numbers beyond what the squares can hold
    keep_finite(block, [&](std::size_t i) { count_left_out(block, i, sums, worst); });
    if (block.size == 0) return;
    sums_of = moments(block.a.data(), block.b.data(), block.size);
  }
  sums.add(sums_of, block.size);
  sums.centred.add(centred(block.a.data(), block.b.data(), block.size, means_));
  if (same) {
    sums.equal += block.size;
    return;
  }
  const auto differing = differences(block.a.data(), block.b.data(), block.size);
  sums.add(differing, block.size);
  sums.add(quotients(block.a.data(), block.b.data(), block.size));
  if (ulp_type_ != ElementType::undefined) sums.add(ulps(block));
  offer_block(block, differing.greatest, worst);
}

template <class Real>
void Comparison<Real>::count_left_out(const PairBlock<Real>& block, std::size_t i, FirstSums<Real>& sums,
                                      Worst& worst) const {
  const Real a = block.a[i], b = block.b[i];
  const bool nan_mismatch = std::isnan(a) != std::isnan(b);
  const bool inf_mismatch = std::isinf(a) != std::isinf(b) || (std::isinf(a) && a != b);
  sums.nan_mismatches += nan_mismatch ? 1 : 0;
  sums.inf_mismatches += inf_mismatch ? 1 : 0;
  if (!nan_mismatch && !inf_mismatch) {
    ++sums.equal;
    return;
  }
  worst.offer({.mismatch = true, .index = block.first + i, .a = static_cast<double>(a), .b = static_cast<double>(b)});
}

template <class Real>
void Comparison<Real>::offer_block(const PairBlock<Real>& block, Real greatest, Worst& worst) const {
  if (greatest == 0 || !worst.admits({.distance = greatest, .index = block.index(0)})) return;
  for (std::size_t i = 0; i < block.size; ++i) {
    const Real distance = std::abs(block.b[i] - block.a[i]);
    if (distance == 0) continue;
    worst.offer({.distance = distance,
                 .index = block.index(i),
                 .a = static_cast<double>(block.a[i]),
                 .b = static_cast<double>(block.b[i])});
  }
}

template <class Real>
UlpDistances Comparison<Real>::ulps(const PairBlock<Real>& block) const {
  if constexpr (std::is_same_v<Real, double>) {
    return ulp_distances(ulp_type_, std::span(block.a.data(), block.size), std::span(block.b.data(), block.size));
  } else {
    std::array<double, Elements::most> a, b;
    std::copy_n(block.a.begin(), block.size, a.begin());
    std::copy_n(block.b.begin(), block.size, b.begin());
    return ulp_distances(ulp_type_, std::span(a.data(), block.size), std::span(b.data(), block.size));
  }
}

template <class Real>
bool Comparison<Real>::fits_double() const {
  constexpr double largest = power_of_two(480), smallest = power_of_two(-480);
  const auto holds = [&](double x) { return x == 0 || (x >= smallest && x <= largest); };
  if (sums_.compared == 0) return true;
  const double a = static_cast<double>(std::max(std::abs(sums_.least_a), std::abs(sums_.greatest_a)));
  const double b = static_cast<double>(std::max(std::abs(sums_.least_b), std::abs(sums_.greatest_b)));
  const bool wide_integers = storage_bits(a_.type()) == 64 && is_integer(a_.type()) && a >= power_of_two(53);
  const bool wide_integers_b = storage_bits(b_.type()) == 64 && is_integer(b_.type()) && b >= power_of_two(53);
  if (wide_integers || wide_integers_b) return false;
  return holds(a) && holds(b) && holds(static_cast<double>(sums_.max_absolute)) &&
         static_cast<double>(sums_.max_relative) <= power_of_two(900);
}

template <class Real>
template <class F>
void Comparison<Real>::finite_blocks(std::size_t first, std::size_t end, F&& body) const {
  PairBlock<Real> block;
  for (std::size_t at = first; at < end; at += Elements::most) {
    read(at, end, block);
    if (sums_.compared < elements_) keep_finite(block, [](std::size_t) {});
    if (block.size > 0) body(block);
  }
}

/// From a sample.
template <class Real>
Means<Real> Comparison<Real>::guess_means() const {
  const std::size_t samples = std::min<std::size_t>(elements_, 256);
  Real a = 0, b = 0, d = 0, count = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    Real x = 0, y = 0;
    a_.read(elements_ / samples * i, std::span(&x, 1));
    b_.read(elements_ / samples * i, std::span(&y, 1));
    if (!std::isfinite(y - x)) continue;
    a += x;
    b += y;
    d += y - x;
    ++count;
  }
  if (count == 0) return {};
  return {a / count, b / count, d / count};
}

/// Sums around means_. The guess will do unless it is so far off that the sums would lose digits when they are moved to the true means.
template <class Real>
Centred<Real> Comparison<Real>::centred_sums() {
  const auto count = static_cast<Real>(sums_.compared);
  const auto near = [&](Real lost, Real squares) { return lost * lost / count <= squares / 4; };
  const Centred<Real> guessed = sums_.centred.value();
  if (near(guessed.a, guessed.aa) && near(guessed.b, guessed.bb) && near(guessed.d, guessed.dd)) return guessed;
  means_ = {sums_.a.value() / count, sums_.b.value() / count, sums_.d.value() / count};
  CentredSums<Real> all;
  for (const auto& part : sums_by_chunk<CentredSums<Real>>([this](std::size_t first, std::size_t end) {
         CentredSums<Real> sums;
         finite_blocks(first, end, [&](const PairBlock<Real>& block) {
           sums.add(centred(block.a.data(), block.b.data(), block.size, means_));
         });
         return sums;
       }))
    all.merge(part);
  return all.value();
}

template <class Real>
Real Comparison<Real>::residual_sum(Real slope, Real shift) {
  Sum<Real> all;
  for (const auto& part : sums_by_chunk<Sum<Real>>([&](std::size_t first, std::size_t end) {
         Sum<Real> sum;
         finite_blocks(first, end, [&](const PairBlock<Real>& block) {
           sum.add(squared_residuals(block.a.data(), block.b.data(), block.size, means_, slope, shift));
         });
         return sum;
       }))
    all.add(part);
  return all.value();
}

template <class Real>
void Comparison<Real>::fit_line(Metrics& metrics) {
  if (sums_.compared == 0 || sums_.max_absolute == 0) return;
  const bool a_constant = sums_.least_a == sums_.greatest_a, b_constant = sums_.least_b == sums_.greatest_b;
  if (b_constant) {
    metrics.alpha = a_constant ? 1 : 0;
    metrics.beta = static_cast<double>(a_constant ? sums_.least_b - sums_.least_a : sums_.least_b);
    metrics.r2 = a_constant ? 1 : 0;
    return;
  }
  const auto count = static_cast<Real>(sums_.compared);
  const Centred<Real> sums = centred_sums();
  const Real lost_a = sums.a / count, lost_b = sums.b / count, lost_d = sums.d / count;  // of the means
  const Real aa = sums.aa - count * lost_a * lost_a, bb = sums.bb - count * lost_b * lost_b;
  const Real ad = sums.ad - count * lost_a * lost_d, dd = sums.dd - count * lost_d * lost_d;
  const Real slope = a_constant ? Real(0) : ad / aa;  // of d over a
  const Real shift = lost_d - slope * lost_a;
  // What the line leaves of the variance of d; a small rest would be lost in the difference.
  const Real rest = dd - slope * ad;
  const Real residuals = rest >= dd / 10 ? rest : residual_sum(slope, shift);
  metrics.alpha = static_cast<double>(1 + slope);
  metrics.beta = static_cast<double>(means_.d - slope * means_.a + shift);
  metrics.r2 = static_cast<double>(std::max(Real(0), 1 - residuals / bb));
  metrics.residual = static_cast<double>(std::sqrt(residuals / count));
}

template <class Real>
Metrics Comparison<Real>::metrics() {
  Metrics metrics;
  metrics.elements = elements_;
  metrics.compared = sums_.compared;
  metrics.equal = sums_.equal;
  metrics.nan_mismatches = sums_.nan_mismatches;
  metrics.inf_mismatches = sums_.inf_mismatches;
  metrics.sign_flips = sums_.sign_flips;
  metrics.worst = worst_.sorted();
  if (sums_.compared == 0) return metrics;
  const auto count = static_cast<Real>(sums_.compared);
  metrics.max_absolute = static_cast<double>(sums_.max_absolute);
  metrics.mean_absolute = static_cast<double>(sums_.absolute.value() / count);
  metrics.rmse = static_cast<double>(std::sqrt(sums_.square.value() / count));
  metrics.max_relative = static_cast<double>(sums_.max_relative);
  if (sums_.nonzero_a > 0)
    metrics.mean_relative = static_cast<double>(sums_.relative.value() / static_cast<Real>(sums_.nonzero_a));
  if (sums_.max_absolute > 0) {
    const Real range = sums_.greatest_a - sums_.least_a;
    metrics.range_relative = static_cast<double>(sums_.max_absolute / (range > 0 ? range : std::abs(sums_.greatest_a)));
  }
  const Real a_norm = std::sqrt(sums_.aa.value()), b_norm = std::sqrt(sums_.bb.value());
  if (a_norm > 0 && b_norm > 0) {
    metrics.cosine = static_cast<double>(std::clamp(sums_.ab.value() / a_norm / b_norm, Real(-1), Real(1)));
  } else {
    metrics.cosine = a_norm == b_norm ? 1 : 0;
  }
  metrics.max_ulps = sums_.max_ulps;
  metrics.mean_ulps = sums_.ulps.value() / static_cast<double>(sums_.compared);
  fit_line(metrics);
  return metrics;
}

}  // namespace

Result<Metrics> compare(const Tensor& a, const Tensor& b, std::size_t worst, int threads) {
  for (const Tensor* tensor : {&a, &b}) {
    if (!are_numbers(tensor->type())) return undefined_for_type("figures of deviation", *tensor);
  }
  if (a.dims() != b.dims()) return shape_mismatch(a, b);
  Comparison<double> quick(a, b, worst, threads);
  quick.run();
  if (quick.fits_double()) return quick.metrics();
  Comparison<long double> wide(a, b, worst, threads);
  wide.run();
  return wide.metrics();
}

}  // namespace onnxkit::comparison
