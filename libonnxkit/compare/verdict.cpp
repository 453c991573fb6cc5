#include "libonnxkit/compare/verdict.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/rounding.h"
#include "libonnxkit/compare/flips.h"
#include "libonnxkit/compare/jumps.h"
#include "libonnxkit/compare/metrics/elements.h"
#include "libonnxkit/compare/rows.h"

namespace onnxkit::comparison {
namespace {

/// What rounding loses of numbers near zero: runtimes may flush those below the normal range, or keep their last step.
double storage_step(ElementType type) {
  switch (type) {
    case ElementType::float64:
      return 0x1p-1022;
    case ElementType::float16:
      return 0x1p-25;
    default:
      return 0x1p-126;
  }
}

/// Elements whose exact answer, some sample or the compared one has no number there, and what to make of it.
enum class Finite : std::uint8_t { all, same, wild, other };

Finite finiteness(double exact, double got, std::span<const std::vector<double>> samples, std::size_t i) {
  if (std::isfinite(exact) && std::isfinite(got)) return Finite::all;
  if ((std::isnan(exact) && std::isnan(got)) || exact == got) return Finite::same;
  for (const auto& sample : samples) {
    if ((std::isnan(sample[i]) && std::isnan(got)) || sample[i] == got) return Finite::wild;
  }
  return Finite::other;
}

/// Infinity in place of a number that is beyond the largest of the stored type, or that noise can carry there.
bool overflows(double exact, double got, std::span<const std::vector<double>> samples, std::size_t i,
               ElementType type) {
  const double largest = largest_finite(type);
  const auto is_beyond = [&](double x) { return std::abs(x) >= largest && (x > 0) == (got > 0); };
  return std::isinf(got) && std::isfinite(exact) &&
         (is_beyond(exact) ||
          std::any_of(samples.begin(), samples.end(), [&](const auto& sample) { return is_beyond(sample[i]); }));
}

/// Of the deviations of samples [first, last) in element i.
double mean_square(const std::vector<double>& exact, std::span<const std::vector<double>> samples, std::size_t i,
                   std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t r = first; r < last; ++r) {
    const double d = samples[r][i] - exact[i];
    if (std::isfinite(d)) sum += d * d;
  }
  return sum / static_cast<double>(std::max<std::size_t>(1, last - first));
}

/// How many elements err independently. The products G of K samples' deviations, taken in sigmas and over all elements, tell: for n independent elements the
/// sum of their squares is K + (K^2 - K) / n in the mean, the sum of the diagonal K; elements that inherit the error of one number have it in common.
std::uint64_t independent_draws(const std::vector<double>& exact, std::span<const std::vector<double>> samples,
                                const std::vector<double>& variance, const std::vector<bool>& counts, double least) {
  constexpr std::size_t few = 3;
  const auto counted = static_cast<double>(std::count(counts.begin(), counts.end(), true));
  if (samples.size() < few || counted < 2) return static_cast<std::uint64_t>(counted);
  double squares = 0, diagonal = 0;
  for (std::size_t r = 0; r < samples.size(); ++r) {
    for (std::size_t s = 0; s <= r; ++s) {
      double product = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        if (!counts[i]) continue;
        const double d = (samples[r][i] - exact[i]) * (samples[s][i] - exact[i]);
        if (std::isfinite(d)) product += d / std::max(variance[i], least);
      }
      product /= counted;
      squares += (r == s ? 1 : 2) * product * product;
      if (r == s) diagonal += product;
    }
  }
  const auto all = static_cast<double>(samples.size());
  const double common = (squares - diagonal * diagonal / all) / (all * all - all);
  return static_cast<std::uint64_t>(common > 0 ? std::clamp(std::round(1 / common), 1.0, counted) : counted);
}

void leave_out_jumps(TensorVerdict& out, const Deviations& deviations) {
  const auto left = without_jumps_of_edges(deviations);
  if (!left) return;
  out.floor.healthy = true;
  out.floor.rms = left->rms;
  out.floor.largest = left->largest;
  out.floor.draws = std::min(out.floor.draws, left->others);
  out.floor.elements = left->others;
  out.flips += left->jumps;
}

TensorVerdict verdict_of_reals(const exec::Spread& spread, const Tensor& got, Profile profile, const Tensor* origin,
                               std::size_t sets) {
  const std::vector<double> exact = to_reals(spread.exact.tensor), found = to_reals(got);
  const std::vector<double> compared_with = origin ? to_reals(*origin) : exact;
  // The exact answer is computed in double: of float64 it has rounded as the compared one has.
  const double sides = origin || got.type() == ElementType::float64 ? 2 : 1;
  std::vector<std::vector<double>> samples;
  for (const Value& sample : spread.samples) samples.push_back(to_reals(sample.tensor));
  const std::size_t plain = spread.plain();
  TensorVerdict out;
  out.floor.profile = profile;

  std::vector<double> variance(exact.size(), 0), by_plain;
  std::vector<bool> counts(exact.size(), false);
  double pooled = 0;
  std::uint64_t other = 0, counted = 0;
  const double unit = unit_roundoff(got.type()) * deviation_of_uniform, step = storage_step(got.type());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    switch (finiteness(compared_with[i], found[i], samples, i)) {
      case Finite::same:
        continue;
      case Finite::wild:
        ++out.flips;
        continue;
      case Finite::other:
        if (!overflows(compared_with[i], found[i], samples, i, got.type())) ++other;
        continue;
      case Finite::all:
        break;
    }
    const double stored = std::max(unit * std::abs(exact[i]), step);
    variance[i] = (mean_square(exact, samples, i, 0, plain) + stored * stored) * sides;
    pooled += variance[i];
    by_plain.push_back(variance[i]);
    // Of the samples of edges, half flip an element; what they move excuses nothing else.
    variance[i] += 2 * sides * mean_square(exact, samples, i, plain, plain + spread.edges);
    counts[i] = true;
    ++counted;
  }
  if (other > 0) {
    out.verdict = Verdict::mismatch;
    out.why = fmt::format("NaN or infinity in {} elements that are finite in the exact answer", other);
    return out;
  }
  if (counted == 0) {
    out.floor.healthy = true;
    out.verdict = Verdict::rounding;
    return out;
  }
  pooled /= static_cast<double>(counted);
  double sum = 0, largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!counts[i]) continue;
    const double d = found[i] - compared_with[i];
    if (d == 0) continue;
    sum += d * d / std::max(variance[i], pooled / 4);
    // A row that is far more sensitive than others, such as one whose position falls on the edge of a bucket, is compared with its own noise.
    largest = std::max(largest, d * d / std::max(variance[i], pooled));
  }
  out.floor.rms = std::sqrt(sum / static_cast<double>(counted));
  out.floor.largest = std::sqrt(largest);
  out.floor.elements = counted;
  out.floor.draws = independent_draws(exact, std::span(samples).first(plain), variance, counts, pooled / 4);
  const double limit = rms_limit(out.floor.draws, sets);
  const auto is_within = [&](double factor) {
    return out.floor.rms <= factor * limit && out.floor.largest <= factor * healthy_largest;
  };
  constexpr double doubtful = 4;
  out.floor.healthy = is_within(1);
  out.in_doubt = !out.floor.healthy && is_within(doubtful);
  if (!out.floor.healthy && spread.edges > 0) {
    Deviations deviations{.variance = std::move(by_plain), .pooled = pooled, .sides = sides, .sets = sets};
    deviations.samples.resize(spread.edges);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (!counts[i]) continue;
      deviations.compared.push_back(found[i] - compared_with[i]);
      for (std::size_t r = 0; r < spread.edges; ++r) deviations.samples[r].push_back(samples[plain + r][i] - exact[i]);
    }
    leave_out_jumps(out, deviations);
  }
  out.verdict = out.floor.healthy ? Verdict::rounding : Verdict::not_rounding;
  return out;
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return a == b || (std::isnan(a) && std::isnan(b));
  else
    return a == b;
}

/// Numbers with so few bits that a rounding is a jump.
bool is_small_float(ElementType type) {
  return type != ElementType::float64 && type != ElementType::float32 && type != ElementType::float16 &&
         type != ElementType::bfloat16;
}

/// `value_differs(i)` and `sample_differs(r, i)` tell whether element i differs.
template <class ValueDiffers, class SampleDiffers>
Flips count_flips(const exec::Spread& spread, std::size_t size, const ValueDiffers& value_differs,
                  const SampleDiffers& sample_differs) {
  const std::size_t samples = spread.samples.size(), plain = spread.plain();
  Flips flips;
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t by_plain = 0, by_amplified = 0;
    for (std::size_t r = 0; r < samples; ++r) (r < plain ? by_plain : by_amplified) += sample_differs(r, i);
    const bool can_flip = by_plain + by_amplified > 0;
    flips.any = flips.any || can_flip;
    flips.alone += by_plain == 1;
    if (!value_differs(i)) continue;
    ++flips.differing;
    flips.flipped += can_flip;
  }
  return flips;
}

TensorVerdict verdict_of_flips(const Flips& flips, const exec::Spread& spread, std::size_t size,
                               std::string_view elements) {
  TensorVerdict out;
  if (flips.differing == 0) {
    out.verdict = Verdict::identical;
    return out;
  }
  const std::uint64_t alone = flips.differing - flips.flipped, allowed = allowed_alone(flips, spread.plain());
  const bool can_flip = alone <= allowed;
  constexpr std::uint64_t few = 16;
  out.flips = can_flip ? flips.differing : flips.flipped;
  out.verdict = can_flip ? Verdict::undecidable : Verdict::not_rounding;
  out.by_flips = true;
  out.in_doubt = !can_flip && alone <= std::max({few, 2 * allowed, flips.flipped});
  out.why = fmt::format("{} of {} {} differ, {} of them can be flipped by rounding", flips.differing, size, elements,
                        out.flips);
  return out;
}

/// Of numbers of steps, the samples' sizes count, too: one step at least, and rms and largest as far as those of any deviation.
void compare_steps(TensorVerdict& out, const exec::Spread& spread, const Tensor& got, const Tensor* origin) {
  if (out.verdict != Verdict::undecidable) return;
  const std::vector<double> exact = to_reals(spread.exact.tensor), found = to_reals(got);
  const std::vector<double> from = origin ? to_reals(*origin) : exact;
  JumpSizes by_samples, sizes;
  const std::size_t plain = spread.plain();
  for (std::size_t r = 0; r < plain + spread.edges; ++r) {
    const std::vector<double> sample = to_reals(spread.samples[r].tensor);
    for (std::size_t i = 0; i < exact.size(); ++i) by_samples.add(sample[i] - exact[i]);
  }
  for (std::size_t i = 0; i < exact.size(); ++i) sizes.add(found[i] - from[i]);
  const double sigma = std::max(1.0, by_samples.rms()) * (origin ? std::sqrt(2.0) : 1);
  const double most = std::max(3 * sigma, 2 * by_samples.largest);
  if (sizes.rms() <= healthy_rms * sigma && sizes.largest <= most) return;
  out.verdict = Verdict::not_rounding;
  out.why += fmt::format("; they differ by {:.3g} steps (rms), {:.3g} at most, those of rounding by {:.3g} and {:.3g}",
                         sizes.rms(), sizes.largest, by_samples.rms(), by_samples.largest);
}

exec::Spread edges_only(const exec::Spread& spread) {
  exec::Spread some = spread;
  const auto first = spread.samples.begin() + static_cast<std::ptrdiff_t>(spread.plain());
  some.samples.assign(first, first + static_cast<std::ptrdiff_t>(spread.edges));
  some.edges = some.amplified = 0;
  return some;
}

template <class T>
TensorVerdict verdict_of_discrete(const exec::Spread& spread, const Tensor& got, const Tensor* origin,
                                  bool is_of_edges = false) {
  const auto exact = all_elements<T>(spread.exact.tensor), found = all_elements<T>(got);
  const auto compared_with = all_elements<T>(origin ? *origin : spread.exact.tensor);
  std::vector<std::unique_ptr<T[]>> samples;
  for (const Value& sample : spread.samples) samples.push_back(all_elements<T>(sample.tensor));
  const auto size = static_cast<std::size_t>(got.size());
  Flips flips = count_flips(
      spread, size, [&](std::size_t i) { return !same(compared_with[i], found[i]); },
      [&](std::size_t r, std::size_t i) { return !same(samples[r][i], exact[i]); });
  if (is_of_edges) flips.any = flips.alone > 0;  // half of them flip what lies near an edge: few are missed
  TensorVerdict out = verdict_of_flips(flips, spread, size, "elements");
  if (is_finding(out.verdict) && spread.edges > 0) {
    // How often rounding flips elements samples of edges tell by themselves.
    TensorVerdict by_edges = verdict_of_discrete<T>(edges_only(spread), got, origin, true);
    if (!is_finding(by_edges.verdict)) return by_edges;
  }
  if (spread.is_steps && domain_of(got.type()) != Domain::real) compare_steps(out, spread, got, origin);
  return out;
}

TensorVerdict verdict_of_strings(const exec::Spread& spread, const Tensor& got, const Tensor* origin) {
  const auto exact = spread.exact.tensor.strings(), found = got.strings();
  const auto compared_with = origin ? origin->strings() : exact;
  const Flips flips = count_flips(
      spread, found.size(), [&](std::size_t i) { return compared_with[i] != found[i]; },
      [&](std::size_t r, std::size_t i) { return spread.samples[r].tensor.strings()[i] != exact[i]; });
  return verdict_of_flips(flips, spread, found.size(), "strings");
}

/// Complex numbers as pairs of reals.
Tensor as_pairs(const Tensor& tensor) {
  const bool is_double = tensor.type() == ElementType::complex128;
  auto dims = tensor.dims();
  dims.push_back(2);
  auto pairs = Tensor::view(is_double ? ElementType::float64 : ElementType::float32, std::move(dims), tensor.bytes(),
                            std::make_shared<Tensor>(tensor));
  return pairs ? *std::move(pairs) : Tensor();
}

exec::Spread as_pairs(const exec::Spread& spread) {
  exec::Spread pairs{as_pairs(spread.exact.tensor), {}, spread.type, spread.amplified, spread.edges};
  for (const Value& sample : spread.samples) pairs.samples.emplace_back(as_pairs(sample.tensor));
  return pairs;
}

TensorVerdict verdict_of_same_shape(const exec::Spread& spread, const Tensor& got, Profile profile,
                                    const Tensor* origin, std::size_t sets) {
  switch (domain_of(got.type())) {
    case Domain::real:
      if (is_small_float(got.type())) return verdict_of_discrete<double>(spread, got, origin);
      return verdict_of_reals(spread, got, profile, origin, sets);
    case Domain::integer:
      return verdict_of_discrete<std::int64_t>(spread, got, origin);
    case Domain::natural:
      return verdict_of_discrete<std::uint64_t>(spread, got, origin);
    case Domain::boolean:
      return verdict_of_discrete<bool>(spread, got, origin);
    case Domain::complex: {
      const Tensor pairs = origin ? as_pairs(*origin) : Tensor();
      return verdict_of_reals(as_pairs(spread), as_pairs(got), profile, origin ? &pairs : nullptr, sets);
    }
    case Domain::string:
      return verdict_of_strings(spread, got, origin);
  }
  return {};
}

bool has_dims(const Value& value, const std::vector<std::int64_t>& dims) {
  return value.is_tensor() && value.tensor.dims() == dims;
}

/// Where shapes differ along more than one axis, or only that of the compared tensor does.
TensorVerdict verdict_of_other_shape(const exec::Spread& spread, const Tensor& got, const Tensor* origin) {
  const bool can_be = std::any_of(spread.samples.begin(), spread.samples.end(),
                                  [&](const Value& sample) { return has_dims(sample, got.dims()); });
  const std::vector<std::int64_t>& wanted = origin ? origin->dims() : spread.exact.tensor.dims();
  TensorVerdict out;
  out.by_flips = true;
  if (got.dims() == wanted) {
    out.verdict = Verdict::not_compared;
    out.in_doubt = true;
    out.why =
        fmt::format("the exact answer or all of its samples have other shapes than [{}]", fmt::join(got.dims(), ", "));
    return out;
  }
  out.verdict = can_be ? Verdict::not_compared : Verdict::mismatch;
  out.in_doubt = !can_be;
  out.why = fmt::format("the shape is [{}] instead of [{}]{}", fmt::join(got.dims(), ", "), fmt::join(wanted, ", "),
                        can_be ? ", which rounding can change; the values could not be compared" : "");
  return out;
}

/// The samples of the shape that the compared tensor has.
TensorVerdict verdict_of_some_samples(const exec::Spread& spread, const Tensor& got, Profile profile,
                                      const Tensor* origin, std::size_t sets) {
  const std::size_t all = spread.samples.size(), plain = spread.plain();
  exec::Spread some = spread;
  some.samples.clear();
  some.amplified = some.edges = 0;
  for (std::size_t r = 0; r < all; ++r) {
    if (!has_dims(spread.samples[r], got.dims())) continue;
    some.samples.push_back(spread.samples[r]);
    if (r >= plain) ++(r < plain + spread.edges ? some.edges : some.amplified);
  }
  if (some.plain() == 0) return verdict_of_other_shape(spread, got, origin);
  TensorVerdict out = verdict_of_same_shape(some, got, profile, origin, sets);
  out.in_doubt = out.in_doubt || (is_finding(out.verdict) && some.samples.size() < all);
  return out;
}

}  // namespace

std::uint64_t allowed_alone(const Flips& flips, std::size_t samples) {
  const double mean = static_cast<double>(flips.alone) / static_cast<double>(std::max<std::size_t>(1, samples));
  return std::max<std::uint64_t>(flips.any, static_cast<std::uint64_t>(mean + 4 * std::sqrt(mean)));
}

double rms_limit(std::uint64_t elements, std::size_t sets) {
  // The rms of few elements that only rounding changed is that of Student's t, since sigma is estimated: its 0.9999 quantile. The tail for six samples falls with
  // the sixth power, so that the largest of several sets is larger by the sixth root.
  constexpr double spread_of_one = 4;
  const double spread = spread_of_one * std::pow(static_cast<double>(std::max<std::size_t>(1, sets)), 1.0 / 6);
  return std::min(healthy_largest,
                  healthy_rms * (1 + spread / std::sqrt(static_cast<double>(std::max<std::uint64_t>(1, elements)))));
}

TensorVerdict verdict_of(const exec::Spread& spread, const Tensor& got, Profile profile, const Tensor* origin,
                         std::size_t sets) {
  const std::vector<std::int64_t>& exact = spread.exact.tensor.dims();
  const bool samples_agree = std::all_of(spread.samples.begin(), spread.samples.end(),
                                         [&](const Value& sample) { return has_dims(sample, exact); });
  const bool base_agrees = !origin || origin->dims() == exact;
  if (samples_agree && base_agrees && got.dims() == exact) {
    if (const auto axis = axis_of_exchanged_rows(spread, got.type()))
      return verdict_of_rows(spread, got, profile, origin, sets, *axis, true);
    return verdict_of_same_shape(spread, got, profile, origin, sets);
  }
  const bool sides_agree = got.dims() == (origin ? origin->dims() : exact);
  if (!samples_agree || sides_agree) {
    const auto axis = axis_of_rows(spread, got, origin);
    if (axis && domain_of(got.type()) != Domain::complex)
      return verdict_of_rows(spread, got, profile, origin, sets, *axis);
  }
  if (base_agrees && got.dims() == exact) return verdict_of_some_samples(spread, got, profile, origin, sets);
  return verdict_of_other_shape(spread, got, origin);
}

bool identical(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  if (a.kind == ValueKind::tensor || a.kind == ValueKind::map) {
    const Tensor &x = a.tensor, &y = b.tensor;
    if (x.type() != y.type() || x.dims() != y.dims()) return false;
    const bool same_bytes = std::equal(x.bytes().begin(), x.bytes().end(), y.bytes().begin(), y.bytes().end());
    if (!std::equal(x.strings().begin(), x.strings().end(), y.strings().begin(), y.strings().end())) return false;
    if (!same_bytes) {
      if (domain_of(x.type()) != Domain::real) return false;
      const std::vector<double> left = to_reals(x), right = to_reals(y);
      for (std::size_t i = 0; i < left.size(); ++i) {
        const bool both_nan = std::isnan(left[i]) && std::isnan(right[i]);
        if (!both_nan && (left[i] != right[i] || std::signbit(left[i]) != std::signbit(right[i]))) return false;
      }
    }
  }
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                    [](const Value& x, const Value& y) { return identical(x, y); });
}

}  // namespace onnxkit::comparison
