#include "libonnxkit/compare/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/rounding.h"
#include "libonnxkit/compare/flips.h"
#include "libonnxkit/compare/metrics/elements.h"

namespace onnxkit::comparison {
namespace {

using Partners = std::vector<std::optional<std::size_t>>;  // by row of the one, the row of the other

constexpr double beyond_all = std::numeric_limits<double>::infinity();
/// A row that is so many times further off than rows usually are is another row.
constexpr double other_row = 50;
constexpr std::size_t most_rounds = 256;
constexpr std::size_t most_steps = 4096;  // of a search for the nearest row, to either side

struct RowSet {
  std::vector<double> numbers;  // one row after the other
  std::size_t count = 0, width = 0;

  const double* row(std::size_t i) const { return numbers.data() + i * width; }
};

/// Strings as numbers: equal ones have equal numbers.
using StringNumbers = std::map<std::string, double, std::less<>>;

std::vector<double> numbers_of_rows(const Tensor& tensor, StringNumbers& strings) {
  if (domain_of(tensor.type()) != Domain::string) return to_reals(tensor);
  std::vector<double> numbers;
  for (const auto& text : tensor.strings())
    numbers.push_back(strings.emplace(text, static_cast<double>(strings.size())).first->second);
  return numbers;
}

RowSet rows_of(const Tensor& tensor, std::size_t axis, StringNumbers& strings) {
  const std::vector<double> numbers = numbers_of_rows(tensor, strings);
  RowSet rows;
  rows.count = static_cast<std::size_t>(tensor.dims()[axis]);
  if (numbers.empty()) return rows;
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.dims().size(); ++i) inner *= static_cast<std::size_t>(tensor.dims()[i]);
  const std::size_t outer = numbers.size() / (inner * rows.count);
  rows.width = outer * inner;
  rows.numbers.reserve(numbers.size());
  for (std::size_t r = 0; r < rows.count; ++r) {
    for (std::size_t o = 0; o < outer; ++o) {
      const auto from = numbers.begin() + static_cast<std::ptrdiff_t>((o * rows.count + r) * inner);
      rows.numbers.insert(rows.numbers.end(), from, from + static_cast<std::ptrdiff_t>(inner));
    }
  }
  return rows;
}

double number_distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isfinite(d) ? d : beyond_all;
}

/// The largest finite magnitude of each column.
std::vector<double> scales_of(const RowSet& rows) {
  std::vector<double> scales(rows.width, 0);
  for (std::size_t i = 0; i < rows.numbers.size(); ++i) {
    const double size = std::abs(rows.numbers[i]);
    if (std::isfinite(size)) scales[i % rows.width] = std::max(scales[i % rows.width], size);
  }
  for (double& scale : scales) scale = scale > 0 ? scale : 1;
  return scales;
}

double row_distance(const double* a, const double* b, const std::vector<double>& scales) {
  double most = 0;
  for (std::size_t j = 0; j < scales.size(); ++j) most = std::max(most, number_distance(a[j], b[j]) / scales[j]);
  return most;
}

/// Numbers in order, NaN last.
bool is_before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

/// Rows that are equal, as often as both have them.
void match_equal(const RowSet& a, const RowSet& b, Partners& of_a, std::vector<bool>& taken) {
  const auto order_of = [](const RowSet& rows) {
    std::vector<std::size_t> order(rows.count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
  };
  const auto before = [&](const double* x, const double* y) {
    return std::lexicographical_compare(x, x + a.width, y, y + a.width, is_before);
  };
  std::vector<std::size_t> in_a = order_of(a), in_b = order_of(b);
  std::stable_sort(in_a.begin(), in_a.end(), [&](auto x, auto y) { return before(a.row(x), a.row(y)); });
  std::stable_sort(in_b.begin(), in_b.end(), [&](auto x, auto y) { return before(b.row(x), b.row(y)); });
  for (std::size_t x = 0, y = 0; x < in_a.size() && y < in_b.size();) {
    const double *one = a.row(in_a[x]), *other = b.row(in_b[y]);
    if (before(one, other)) {
      ++x;
    } else if (before(other, one)) {
      ++y;
    } else {
      of_a[in_a[x++]] = in_b[y];
      taken[in_b[y++]] = true;
    }
  }
}

/// Finds the nearest of some rows.
class NearestRow {
 public:
  NearestRow(const RowSet& rows, std::vector<std::size_t> among, const std::vector<double>& scales)
      : rows_(rows), among_(std::move(among)), scales_(scales) {
    double widest = -1;
    for (std::size_t j = 0; j < rows.width; ++j) {
      double least = beyond_all, most = -beyond_all;
      for (const std::size_t i : among_) {
        least = std::min(least, rows.row(i)[j]);
        most = std::max(most, rows.row(i)[j]);
      }
      const double width = (most - least) / scales[j];
      if (!(width > widest)) continue;
      widest = width;
      key_ = j;
    }
    std::stable_sort(among_.begin(), among_.end(), [&](auto x, auto y) { return is_before(key(x), key(y)); });
  }

  std::optional<std::size_t> of(const double* row) const {
    std::optional<std::size_t> best;
    double least = beyond_all;
    const auto first = std::lower_bound(among_.begin(), among_.end(), row[key_],
                                        [&](std::size_t x, double number) { return is_before(key(x), number); });
    // False where all that follow are further off.
    const auto look = [&](std::size_t i) {
      if (number_distance(key(i), row[key_]) / scales_[key_] > least) return false;
      const double found = row_distance(rows_.row(i), row, scales_);
      if (found < least || (found == least && best && i < *best)) {
        least = found;
        best = i;
      }
      return true;
    };
    std::size_t steps = 0;
    for (auto at = first; at != among_.end() && steps < most_steps && look(*at); ++at) ++steps;
    steps = 0;
    for (auto at = first; at != among_.begin() && steps < most_steps && look(*--at);) ++steps;
    return best;
  }

 private:
  double key(std::size_t i) const { return rows_.row(i)[key_]; }

  const RowSet& rows_;
  std::vector<std::size_t> among_;
  const std::vector<double>& scales_;
  std::size_t key_ = 0;
};

/// Equal rows; of real numbers also rows that are the nearest of each other among those that are left.
Partners match_rows(const RowSet& a, const RowSet& b, const std::vector<double>& scales, bool is_real) {
  Partners of_a(a.count);
  std::vector<bool> taken(b.count, false);
  if (a.count == 0 || b.count == 0) return of_a;
  match_equal(a, b, of_a, taken);
  if (!is_real) return of_a;
  // Each round matches one pair at least; rows that are nearly the same take one round each.
  for (std::size_t round = 0; round < most_rounds; ++round) {
    std::vector<std::size_t> left, right;
    for (std::size_t i = 0; i < a.count; ++i) {
      if (!of_a[i]) left.push_back(i);
    }
    for (std::size_t i = 0; i < b.count; ++i) {
      if (!taken[i]) right.push_back(i);
    }
    const NearestRow in_a(a, left, scales), in_b(b, right, scales);
    bool any = false;
    for (const std::size_t i : left) {
      const auto there = in_b.of(a.row(i));
      if (!there || in_a.of(b.row(*there)) != i) continue;
      of_a[i] = there;
      taken[*there] = any = true;
    }
    if (!any) break;
  }
  return of_a;
}

double lower_median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), at, numbers.end());
  return *at;
}

/// What samples tell of the rows of the exact answer.
class SampledRows {
 public:
  SampledRows(const exec::Spread& spread, std::size_t axis, StringNumbers& strings)
      : plain_(spread.plain()),
        is_real_(domain_of(spread.exact.tensor.type()) == Domain::real),
        exact_(rows_of(spread.exact.tensor, axis, strings)) {
    for (const Value& sample : spread.samples) samples_.push_back(rows_of(sample.tensor, axis, strings));
    width_ = exact_.width;
    for (const RowSet& sample : samples_) width_ = std::max(width_, sample.width);
  }

  /// With the rows that are compared: where the exact answer has none, their scale counts.
  void match(const RowSet& compared, ElementType type) {
    scales_ = scales_of(exact_.count > 0 ? exact_ : compared);
    for (const RowSet& sample : samples_) partners_.push_back(match_rows(exact_, sample, scales_, is_real_));
    usual_ = std::max(usual_distance(), unit_roundoff(type));
    by_plain_.assign(exact_.count, 0);
    by_any_.assign(exact_.count, 0);
    added_.resize(samples_.size());
    for (std::size_t r = 0; r < samples_.size(); ++r) {
      std::vector<bool> taken(samples_[r].count, false);
      for (std::size_t i = 0; i < exact_.count; ++i) {
        auto& partner = partners_[r][i];
        if (partner && row_distance(exact_.row(i), samples_[r].row(*partner), scales_) > other_row * limit_of(i))
          partner.reset();
        if (partner) {
          taken[*partner] = true;
          continue;
        }
        ++by_any_[i];
        by_plain_[i] += r < plain_;
      }
      for (std::size_t k = 0; k < taken.size(); ++k) {
        if (!taken[k]) added_[r].push_back(k);
      }
    }
  }

  const RowSet& exact() const { return exact_; }
  const std::vector<double>& scales() const { return scales_; }
  bool is_real() const { return is_real_; }
  std::size_t width() const { return width_; }
  bool can_miss(std::size_t i) const { return by_any_[i] > 0; }
  /// How many samples have a row at another place.
  std::size_t displaced(std::size_t i) const {
    return static_cast<std::size_t>(
        std::count_if(partners_.begin(), partners_.end(), [i](const Partners& all) { return all[i] && all[i] != i; }));
  }

  /// Of each element of the exact answer: its mean square deviation in samples that have its row.
  std::vector<double> variances() const {
    std::vector<double> variances(exact_.numbers.size(), 0);
    for (std::size_t i = 0; i < exact_.count; ++i) {
      std::size_t held = 0;
      for (std::size_t r = 0; r < plain_; ++r) {
        if (!partners_[r][i]) continue;
        ++held;
        const double *here = exact_.row(i), *there = samples_[r].row(*partners_[r][i]);
        for (std::size_t j = 0; j < width_; ++j) {
          const double d = there[j] - here[j];
          if (std::isfinite(d)) variances[i * width_ + j] += d * d;
        }
      }
      for (std::size_t j = 0; j < width_; ++j)
        variances[i * width_ + j] /= static_cast<double>(std::max<std::size_t>(1, held));
    }
    return variances;
  }

  /// Whether some sample has a row like this one that the exact answer has not.
  bool can_add(const double* row) const {
    for (std::size_t r = 0; r < samples_.size(); ++r) {
      if (has_added(r, row)) return true;
    }
    return false;
  }

  Flips missing() const {
    Flips flips;
    for (std::size_t i = 0; i < exact_.count; ++i) {
      flips.any = flips.any || by_any_[i] > 0;
      flips.alone += by_plain_[i] == 1;
    }
    return flips;
  }

  Flips added() const {
    Flips flips;
    for (std::size_t r = 0; r < samples_.size(); ++r) {
      flips.any = flips.any || !added_[r].empty();
      for (const std::size_t k : added_[r]) {
        bool elsewhere = r >= plain_;
        for (std::size_t other = 0; other < plain_ && !elsewhere; ++other)
          elsewhere = other != r && has_added(other, samples_[r].row(k));
        flips.alone += !elsewhere;
      }
    }
    return flips;
  }

  /// Whether some sample has rows, and none of the exact answer's.
  bool can_replace_all() const {
    for (std::size_t r = 0; r < samples_.size() && exact_.count > 0; ++r) {
      if (!samples_[r].numbers.empty() && added_[r].size() == samples_[r].count) return true;
    }
    return false;
  }

  /// How many rows no sample lacks.
  std::size_t steady() const {
    return static_cast<std::size_t>(std::count(by_any_.begin(), by_any_.end(), std::size_t{0}));
  }

 private:
  std::vector<double> distances_of(std::size_t i) const {
    std::vector<double> all;
    for (std::size_t r = 0; r < plain_; ++r) {
      if (partners_[r][i]) all.push_back(row_distance(exact_.row(i), samples_[r].row(*partners_[r][i]), scales_));
    }
    return all;
  }

  double usual_distance() const {
    std::vector<double> all;
    for (std::size_t i = 0; i < exact_.count; ++i) {
      for (const double found : distances_of(i)) all.push_back(found);
    }
    return lower_median(std::move(all));
  }

  double limit_of(std::size_t i) const { return std::max(lower_median(distances_of(i)), usual_); }

  bool has_added(std::size_t r, const double* row) const {
    const double limit = is_real_ ? other_row * usual_ : 0;
    return std::any_of(added_[r].begin(), added_[r].end(),
                       [&](std::size_t k) { return row_distance(samples_[r].row(k), row, scales_) <= limit; });
  }

  std::size_t plain_, width_ = 0;
  bool is_real_;
  double usual_ = 0;
  RowSet exact_;
  std::vector<RowSet> samples_;
  std::vector<double> scales_;
  std::vector<Partners> partners_;  // by sample
  std::vector<std::size_t> by_plain_, by_any_;
  std::vector<std::vector<std::size_t>> added_;  // by sample
};

/// The compared rows against those of the base.
struct ComparedRows {
  std::size_t matched = 0, base = 0, got = 0;
  bool in_order = true;
  Flips missing, added, displaced;
  double squares = 0, largest = 0;
  std::uint64_t elements = 0;
};

class RowComparison {
 public:
  RowComparison(SampledRows& sampled, const RowSet& base, const RowSet& got, ElementType type, double sides,
                bool is_exact)
      : sampled_(sampled), base_(base), got_(got), is_exact_(is_exact) {
    sampled_.match(got.count > 0 ? got : base, type);
    variances_ = sampled_.variances();
    const double unit = unit_roundoff(type) * deviation_of_uniform;
    stored_ = sampled_.is_real() ? sides * unit * unit : 0;
    for (std::size_t i = 0; i < variances_.size(); ++i) {
      const double stored = sampled_.is_real() ? unit * std::abs(sampled_.exact().numbers[i]) : 0;
      if (std::isfinite(stored)) variances_[i] += stored * stored;
      variances_[i] *= sides;
      pooled_ += variances_[i] / static_cast<double>(variances_.size());
    }
    if (is_exact) {
      exact_of_.resize(base.count);
      for (std::size_t i = 0; i < base.count; ++i) exact_of_[i] = i;
    } else {
      exact_of_ = match_rows(base, sampled_.exact(), sampled_.scales(), sampled_.is_real());
    }
  }

  ComparedRows run() {
    ComparedRows all;
    all.base = base_.count;
    all.got = got_.count;
    all.missing = sampled_.missing();
    all.added = sampled_.added();
    for (std::size_t i = 0; i < sampled_.exact().count; ++i) {
      all.displaced.any = all.displaced.any || sampled_.displaced(i) > 0;
      all.displaced.alone += sampled_.displaced(i) == 1;
    }
    // An index that vanishes may be another in another run.
    if (!sampled_.is_real()) all.added.any = all.added.any || all.missing.any;
    const Partners partners = match_rows(base_, got_, sampled_.scales(), sampled_.is_real());
    std::vector<bool> taken(got_.count, false);
    std::size_t next = 0;
    for (std::size_t i = 0; i < base_.count; ++i) {
      if (partners[i] && add_matched(i, *partners[i], all)) {
        taken[*partners[i]] = true;
        all.in_order = all.in_order && *partners[i] >= next;
        next = *partners[i];
        if (next != i) ++all.displaced.differing;
        if (next != i && exact_of_[i] && sampled_.displaced(*exact_of_[i]) > 0) ++all.displaced.flipped;
        ++all.matched;
        continue;
      }
      ++all.missing.differing;
      all.missing.flipped += !exact_of_[i] || sampled_.can_miss(*exact_of_[i]);
    }
    for (std::size_t k = 0; k < got_.count; ++k) {
      if (taken[k]) continue;
      ++all.added.differing;
      all.added.flipped += sampled_.can_add(got_.row(k)) || is_of_exact_only(got_.row(k));
    }
    return all;
  }

 private:
  /// False where the two are so far number_distance that they are other rows.
  bool add_matched(std::size_t i, std::size_t k, ComparedRows& all) const {
    const double *a = base_.row(i), *b = got_.row(k);
    double squares = 0, largest = 0;
    std::uint64_t elements = 0;
    for (std::size_t j = 0; j < base_.width; ++j) {
      const double d = number_distance(a[j], b[j]);
      if (std::isinf(d)) return false;
      ++elements;
      if (d == 0) continue;
      const double own =
          exact_of_[i] ? variances_[*exact_of_[i] * base_.width + j] : std::max(pooled_, stored_ * a[j] * a[j]);
      squares += d * d / std::max(own, pooled_ / 4);
      largest = std::max(largest, d * d / std::max(own, pooled_));
    }
    constexpr double doubtful = 4 * healthy_largest;
    if (!(largest <= doubtful * doubtful)) return false;
    all.squares += squares;
    all.largest = std::max(all.largest, largest);
    all.elements += elements;
    return true;
  }

  /// Where the base is another backend: a row of the exact answer that the base lacks.
  bool is_of_exact_only(const double* row) const {
    if (is_exact_) return false;
    std::vector<bool> has(sampled_.exact().count, false);
    for (const auto& exact : exact_of_) {
      if (exact) has[*exact] = true;
    }
    for (std::size_t i = 0; i < has.size(); ++i) {
      const double limit = sampled_.is_real() ? other_row * std::numeric_limits<float>::epsilon() : 0;
      if (!has[i] && row_distance(sampled_.exact().row(i), row, sampled_.scales()) <= limit) return true;
    }
    return false;
  }

  SampledRows& sampled_;
  const RowSet &base_, &got_;
  bool is_exact_;
  std::vector<double> variances_;
  double pooled_ = 0, stored_ = 0;
  Partners exact_of_;  // by row of the base
};

/// As many as elements that no sample flips (flips.h), but no more than half of those that no sample does.
std::uint64_t allowed_rows(const Flips& flips, const exec::Spread& spread, std::size_t steady) {
  return std::min(allowed_alone(flips, spread.plain()), std::max<std::uint64_t>(flips.any, steady / 2));
}

std::string text_of_rows(const ComparedRows& rows, std::size_t axis) {
  const auto are = [](std::uint64_t count) { return count == 1 ? "is" : "are"; };
  return fmt::format("along axis {}, {} of {} rows have a counterpart; {} {} missing, {} {} new", axis, rows.matched,
                     rows.base, rows.missing.differing, are(rows.missing.differing), rows.added.differing,
                     are(rows.added.differing));
}

}  // namespace

std::optional<std::size_t> axis_of_rows(const exec::Spread& spread, const Tensor& got, const Tensor* origin) {
  std::optional<std::size_t> axis;
  const std::vector<std::int64_t>& exact = spread.exact.tensor.dims();
  const auto agrees = [&](const std::vector<std::int64_t>& dims) {
    if (dims.size() != exact.size()) return false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == exact[i]) continue;
      if (axis && *axis != i) return false;
      axis = i;
    }
    return true;
  };
  const bool all = agrees(got.dims()) && (!origin || agrees(origin->dims())) &&
                   std::all_of(spread.samples.begin(), spread.samples.end(),
                               [&](const Value& sample) { return sample.is_tensor() && agrees(sample.tensor.dims()); });
  return all ? axis : std::nullopt;
}

std::optional<std::size_t> axis_of_exchanged_rows(const exec::Spread& spread, ElementType type) {
  const Tensor& exact = spread.exact.tensor;
  if (domain_of(exact.type()) != Domain::real || exact.dims().size() < 2) return std::nullopt;
  const std::size_t axis = exact.dims().size() - 2;
  if (exact.dims()[axis] < 2 || exact.size() == 0) return std::nullopt;
  StringNumbers none;
  const RowSet rows = rows_of(exact, axis, none);
  const std::vector<double> scales = scales_of(rows);
  for (std::size_t r = 0; r < spread.plain(); ++r) {
    const RowSet sample = rows_of(spread.samples[r].tensor, axis, none);
    std::vector<double> distances;
    for (std::size_t i = 0; i < rows.count; ++i) distances.push_back(row_distance(rows.row(i), sample.row(i), scales));
    const double limit = other_row * std::max(lower_median(distances), unit_roundoff(type));
    std::vector<std::size_t> far;
    for (std::size_t i = 0; i < rows.count; ++i) {
      if (distances[i] > limit) far.push_back(i);
    }
    const NearestRow among(sample, far, scales);
    const auto is_elsewhere = [&](std::size_t i) {
      const auto there = among.of(rows.row(i));
      return there && row_distance(rows.row(i), sample.row(*there), scales) <= limit;
    };
    if (std::any_of(far.begin(), far.end(), is_elsewhere)) return axis;
  }
  return std::nullopt;
}

TensorVerdict verdict_of_rows(const exec::Spread& spread, const Tensor& got, Profile profile, const Tensor* origin,
                              std::size_t sets, std::size_t axis, bool keeps_places) {
  StringNumbers strings;
  SampledRows sampled(spread, axis, strings);
  const RowSet base = rows_of(origin ? *origin : spread.exact.tensor, axis, strings);
  const RowSet rows = rows_of(got, axis, strings);
  const double sides = origin || got.type() == ElementType::float64 ? 2 : 1;
  const ComparedRows found = RowComparison(sampled, base, rows, got.type(), sides, !origin).run();

  TensorVerdict out;
  out.floor.profile = profile;
  if (sampled.is_real() && found.elements > 0) {
    out.floor.rms = std::sqrt(found.squares / static_cast<double>(found.elements));
    out.floor.largest = std::sqrt(found.largest);
    out.floor.elements = out.floor.draws = found.elements;
  }
  const double limit = rms_limit(found.elements, sets);
  out.floor.healthy = out.floor.rms <= limit && out.floor.largest <= healthy_largest;
  const auto beyond = [&](const Flips& flips, std::size_t steady) {
    const std::uint64_t alone = flips.differing - flips.flipped, allowed = allowed_rows(flips, spread, steady);
    return alone > allowed ? alone - allowed : 0;
  };
  // One row more that no sample has is likely where others have counterparts, not in place of all of them.
  const bool replaces_all = found.matched == 0 && base.count > 0 && rows.count > 0 && !sampled.can_replace_all();
  const std::uint64_t added =
      replaces_all ? found.added.differing - found.added.flipped : beyond(found.added, rows.count);
  const std::uint64_t exchanged = keeps_places ? beyond(found.displaced, sampled.exact().count) : 0;
  const std::uint64_t unexplained = beyond(found.missing, sampled.steady()) + added + exchanged;
  const std::uint64_t changed = found.missing.differing + found.added.differing;
  out.why = text_of_rows(found, axis);
  if (unexplained > 0) {
    constexpr std::uint64_t few = 16;
    out.verdict = Verdict::not_rounding;
    out.flips = found.missing.flipped + found.added.flipped;
    out.floor.healthy = false;
    out.in_doubt = out.by_flips = unexplained <= few;
    out.why += fmt::format("; rounding can change {} of these", out.flips);
    if (exchanged > 0)
      out.why += fmt::format("; {} rows are at other places, of which rounding can move {}", found.displaced.differing,
                             found.displaced.flipped);
  } else if (!out.floor.healthy) {
    out.verdict = Verdict::not_rounding;
    out.in_doubt = true;
    out.why += "; rows that have one deviate by more than rounding";
  } else if (changed == 0 && found.in_order) {
    out.verdict = sampled.is_real() ? Verdict::rounding : Verdict::identical;
    out.why.clear();
  } else {
    out.verdict = Verdict::undecidable;
    out.flips = changed;
    out.why += changed == 0 ? ", in another order" : ", which rounding can change";
    if (sampled.is_real() && found.matched > 0) out.why += "; rows that have one are within rounding";
  }
  return out;
}

}  // namespace onnxkit::comparison
