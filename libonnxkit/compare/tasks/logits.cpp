#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/compare/metrics/elements.h"
#include "libonnxkit/compare/metrics/metrics_kernels.h"
#include "libonnxkit/compare/outcome/rank_order.h"
#include "libonnxkit/compare/outcome/task_registry.h"
#include "libonnxkit/compare/outcome/tensor_forms.h"

namespace onnxkit::comparison {
namespace {

constexpr std::size_t top = 5;
constexpr std::size_t most_confusions = 1000;

void read_row(const Elements& elements, std::size_t first, std::vector<double>& row) {
  for (std::size_t at = 0; at < row.size(); at += Elements::most)
    elements.read(first + at, std::span(row.data() + at, std::min(Elements::most, row.size() - at)));
}

/// The classes of the highest scores, in ascending order.
std::array<std::size_t, top> top_classes(const std::vector<double>& row) {
  std::array<std::size_t, top> best;  // highest score first
  std::size_t held = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (held == top && !ranks_above(row[i], row[best[top - 1]])) continue;
    std::size_t at = held < top ? held++ : top - 1;
    for (; at > 0 && ranks_above(row[i], row[best[at - 1]]); --at) best[at] = best[at - 1];
    best[at] = i;
  }
  std::sort(best.begin(), best.end());
  return best;
}

bool are_probabilities(const std::vector<double>& row) {
  double sum = 0;
  for (const double p : row) {
    if (!(p >= 0)) return false;
    sum += p;
  }
  return std::abs(sum - 1) <= 0.01;
}

/// Probabilities from themselves, or from scores of which the highest is 0; returns the logarithm of what they were divided by.
double normalise(std::vector<double>& row, bool probabilities) {
  Sum<double> sum;
  for (double& x : row) {
    if (!probabilities) x = std::exp(x);
    sum.add(x);
  }
  for (double& x : row) x /= sum.value();
  return std::log(sum.value());
}

void highest_to_zero(std::vector<double>& row) {
  const double highest = *std::max_element(row.begin(), row.end());
  for (double& x : row) x -= highest;
}

/// e^x - 1 - x without the cancellation near 0.
double beyond_line(double x) {
  if (std::abs(x) > 0.1) return std::expm1(x) - x;
  double term = x * x / 2, sum = 0;
  for (int k = 3; k < 14; ++k) {
    sum += term;
    term *= x / k;
  }
  return sum;
}

/// Kullback-Leibler divergence, in nats, as a sum of terms that are not negative: p (e^l - 1 - l) with l = log(q / p). The rows are overwritten.
double divergence(std::vector<double>& a, std::vector<double>& b, std::vector<double>& ratio) {
  const bool probabilities = are_probabilities(a) && are_probabilities(b);
  if (!probabilities) {
    highest_to_zero(a);
    highest_to_zero(b);
  }
  double furthest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ratio[i] = a[i] == b[i] ? 0 : probabilities ? std::log1p((b[i] - a[i]) / a[i]) : b[i] - a[i];
    furthest = std::max(furthest, std::abs(ratio[i]));
  }
  const double a_scale = normalise(a, probabilities), b_scale = normalise(b, probabilities);
  double shift = b_scale - a_scale;
  if (furthest < 0.5) {
    Sum<double> sum;
    for (std::size_t i = 0; i < a.size(); ++i) sum.add(a[i] * std::expm1(ratio[i]));
    shift = std::log1p(sum.value());
  }
  Sum<double> sum;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double p = a[i], q = b[i], log_ratio = ratio[i] - shift;
    if (p == 0) {
      sum.add(q);
    } else if (std::abs(log_ratio) <= 0.1) {
      sum.add(p * beyond_line(log_ratio));
    } else {
      sum.add(q - p - p * log_ratio);
    }
  }
  return std::max(0.0, sum.value());
}

/// Softmax exists: no NaN, no +infinity, and not all of it -infinity.
bool has_softmax(const std::vector<double>& row) {
  const bool bad = std::any_of(row.begin(), row.end(), [](double x) { return !(x < INFINITY); });
  return !bad && std::any_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); });
}

using Confusion = std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>;

struct Rows {
  std::size_t same = 0, same_top = 0, diverging = 0;
  Sum<double> divergence;
  double largest = 0;
};

class LogitsOutcome {
 public:
  LogitsOutcome(const Tensor& a, const Tensor& b)
      : a_(a),
        b_(b),
        classes_(static_cast<std::size_t>(a.dims().back())),
        rows_(static_cast<std::size_t>(a.size()) / classes_) {}

  Outcome run(int threads) {
    const std::size_t in_part = std::max<std::size_t>(1, (std::size_t{1} << 16) / classes_);
    std::vector<Rows> parts((rows_ + in_part - 1) / in_part);
    const auto work = [&](std::int64_t from, std::int64_t until) {
      for (auto part = static_cast<std::size_t>(from); part < static_cast<std::size_t>(until); ++part)
        parts[part] = compare_rows(part * in_part, std::min(rows_, (part + 1) * in_part));
    };
    ThreadPool pool(parts.size() < 2 ? 1 : threads);
    pool.for_range(static_cast<std::int64_t>(parts.size()), 1, work);
    Rows all;
    for (const Rows& part : parts) {
      all.same += part.same;
      all.same_top += part.same_top;
      all.diverging += part.diverging;
      all.divergence.add(part.divergence);
      all.largest = std::max(all.largest, part.largest);
    }
    return report(all);
  }

 private:
  Rows compare_rows(std::size_t first, std::size_t end) {
    Rows rows;
    Confusion confusion;
    std::vector<double> a(classes_), b(classes_), ratio(classes_);
    for (std::size_t row = first; row < end; ++row) {
      read_row(a_, row * classes_, a);
      read_row(b_, row * classes_, b);
      const std::size_t class_a = best_index(a), class_b = best_index(b);
      ++confusion[{class_a, class_b}];
      rows.same += class_a == class_b ? 1 : 0;
      if (classes_ > top) rows.same_top += top_classes(a) == top_classes(b) ? 1 : 0;
      if (!has_softmax(a) || !has_softmax(b)) continue;
      const double found = divergence(a, b, ratio);
      ++rows.diverging;
      rows.divergence.add(found);
      rows.largest = std::max(rows.largest, found);
    }
    const std::lock_guard lock(mutex_);
    for (const auto& [pair, count] : confusion) confusion_[pair] += count;
    return rows;
  }

  Outcome report(const Rows& all) const {
    const auto share = [&](std::size_t part) {
      return rows_ == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(rows_);
    };
    Outcome outcome;
    outcome.same = all.same == rows_;
    outcome.figures.emplace_back("argmax agreement", share(all.same));
    if (classes_ > top) outcome.figures.emplace_back("top-5 agreement", share(all.same_top));
    if (all.diverging > 0) {
      outcome.figures.emplace_back("mean KL divergence", all.divergence.value() / static_cast<double>(all.diverging));
      outcome.figures.emplace_back("largest KL divergence", all.largest);
    }
    for (const auto& [pair, count] : confusion_) outcome.confusion.push_back({pair.first, pair.second, count});
    std::stable_sort(outcome.confusion.begin(), outcome.confusion.end(),
                     [](const auto& x, const auto& y) { return x[2] > y[2]; });
    if (outcome.confusion.size() > most_confusions) outcome.confusion.resize(most_confusions);
    return outcome;
  }

  const Elements a_, b_;
  const std::size_t classes_, rows_;
  std::mutex mutex_;
  Confusion confusion_;
};

/// Whether a table has four columns side by side that are coordinates, with numbers beyond [0, 1] that are not whole, and none other: scores and labels
/// beside boxes. `stride` and `step` lead to the next row and the next column.
bool are_boxes_with_scores(const Elements& elements, std::size_t first, std::size_t rows, std::size_t columns,
                           std::size_t stride, std::size_t step) {
  constexpr std::size_t of_box = 4, fewest_rows = 8;
  if (columns <= of_box || rows < fewest_rows) return false;
  const auto is_coordinate = [](double x) { return (x < 0 || x > 1) && x != std::nearbyint(x); };
  std::vector<bool> coordinates(columns, false);
  std::size_t count = 0;
  std::array<double, 1> x{};
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      if (coordinates[column]) continue;
      elements.read(first + row * stride + column * step, x);
      if (!is_coordinate(x[0])) continue;
      coordinates[column] = true;
      if (++count > of_box) return false;
    }
  }
  const auto found = std::find(coordinates.begin(), coordinates.end(), true);
  return count == of_box && std::all_of(found, found + of_box, [](bool is) { return is; });
}

/// Boxes with scores for each, as detectors give them before they choose: [n, 4 + scores], [b, n, 4 + scores] or [b, 4 + scores, n].
bool are_boxes_with_scores(const Tensor& tensor) {
  const auto& dims = tensor.dims();
  const Elements elements(tensor);
  const auto columns = static_cast<std::size_t>(dims.back());
  const std::size_t rows = static_cast<std::size_t>(tensor.size()) / columns;
  if (are_boxes_with_scores(elements, 0, rows, columns, columns, 1)) return true;
  return dims.size() == 3 && dims[0] > 0 &&
         are_boxes_with_scores(elements, 0, columns, static_cast<std::size_t>(dims[1]), 1, columns);
}

/// Four numbers a row may be a box as well: only probabilities are classes then.
bool are_likely_logits(const Tensor& tensor) {
  const auto& dims = tensor.dims();
  if (!is_floating(tensor.type()) || (dims.size() != 2 && dims.size() != 3) || dims.back() < 2) return false;
  constexpr std::size_t of_box = 4;
  const Elements elements(tensor);
  if (dims.back() != of_box) {
    std::vector<double> first(static_cast<std::size_t>(tensor.size() > 0 ? dims.back() : 0));
    if (!first.empty()) read_row(elements, 0, first);
    return first.empty() || are_probabilities(first) || !are_boxes_with_scores(tensor);
  }
  std::vector<double> row(of_box);
  for (std::size_t at = 0; at < static_cast<std::size_t>(tensor.size()); at += of_box) {
    elements.read(at, row);
    if (!are_probabilities(row)) return false;
  }
  return tensor.size() > 0;
}

Result<Outcome> measure_logits(const TaskInputs& inputs) {
  const auto& dims = inputs.a.dims();
  if (dims.empty() || dims.back() < 2)
    return outcome_shape("logits", "[..., classes] with at least 2 classes", inputs.a);
  return LogitsOutcome(inputs.a, inputs.b).run(inputs.threads);
}

/// Rows are counted, but for a confusion that was cut short.
std::string logits_sentence(const Outcome& outcome) {
  if (outcome.same) return "argmax is the same";
  if (outcome.confusion.empty() || outcome.confusion.size() >= most_confusions) {
    const double lost = 1 - figure(outcome, "argmax agreement").value_or(1);
    return fmt::format("argmax differs in {:.3g} % of the rows", 100 * lost);
  }
  std::uint64_t rows = 0, different = 0;
  for (const auto& [a, b, count] : outcome.confusion) {
    rows += count;
    if (a != b) different += count;
  }
  return fmt::format("argmax differs in {} of {} row{}", different, rows, rows == 1 ? "" : "s");
}

}  // namespace

void register_logits(TaskRegistry& registry) {
  registry.add({.name = "logits",
                .meaning = "scores or probabilities of classes [..., classes], one row for each sample",
                .is_likely = are_likely_logits,
                .measure = measure_logits,
                .sentence = logits_sentence});
}

}  // namespace onnxkit::comparison
