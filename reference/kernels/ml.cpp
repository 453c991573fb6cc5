#include "reference/kernels/ml.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

/// Where the normal distribution reaches p: Newton's method on the tail that p lies in, from an estimate good to 2e-3.
double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (p == 0 || p == 1)
    return p == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  const double tail = std::min(p, 1 - p);
  constexpr double a = 0.147;
  const double log = std::log(4 * tail * (1 - tail));
  const double b = 2 / (std::numbers::pi * a) + log / 2;
  double x = -std::numbers::sqrt2 * std::sqrt(std::sqrt(b * b - log / a) - b);
  for (int i = 0; i < 8; ++i) {
    const double excess = std::erfc(-x / std::numbers::sqrt2) / 2 - tail;
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    if (excess == 0 || density == 0) break;
    x -= excess / density;
  }
  return p <= 0.5 ? x : -x;
}

void softmax(std::span<double> scores, bool keep_zeros) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    if (keep_zeros && score == 0) continue;
    sum += score = std::exp(score - most);
  }
  if (sum == 0) return;
  for (double& score : scores) score /= sum;
}

}  // namespace

Tensor feature_rows(const KernelContext& context, const Tensor& x) {
  require(x.rank() == 1 || x.rank() == 2, "features must be [C] or [N, C]");
  const Tensor reals = as_reals(context, x);
  return x.rank() == 2 ? reals : reals.reshaped({1, x.dim(0)});
}

PostTransform post_transform_of(const KernelContext& context) {
  if (context.has_attribute("post_transform") && !context.attribute("post_transform")->as<std::int64_t>()) {
    const std::string_view name = context.string("post_transform");
    if (name == "SOFTMAX") return PostTransform::softmax;
    if (name == "LOGISTIC") return PostTransform::logistic;
    if (name == "SOFTMAX_ZERO") return PostTransform::softmax_zero;
    if (name == "PROBIT") return PostTransform::probit;
    require(name == "NONE", "post_transform is unknown");
    return PostTransform::none;
  }
  const std::int64_t number = context.integer("post_transform");
  require(0 <= number && number <= 4, "post_transform is unknown");
  return static_cast<PostTransform>(number);
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

void transform(PostTransform how, std::span<double> scores) {
  if (scores.empty()) return;
  switch (how) {
    case PostTransform::none:
      return;
    case PostTransform::softmax:
      return softmax(scores, false);
    case PostTransform::softmax_zero:
      return softmax(scores, true);
    case PostTransform::logistic:
      std::transform(scores.begin(), scores.end(), scores.begin(), logistic);
      return;
    case PostTransform::probit:
      std::transform(scores.begin(), scores.end(), scores.begin(), normal_quantile);
      return;
  }
}

ClassLabels::ClassLabels(const KernelContext& context, std::string_view integers, std::string_view strings) {
  const auto words = context.strings(strings);
  const auto numbers = context.integers(integers);
  require(words.has_value() != numbers.has_value(), "exactly one list of class labels is required");
  if (words) {
    labels_ = context.make(ElementType::string, {static_cast<std::int64_t>(words->size())});
    std::copy(words->begin(), words->end(), labels_.write<std::string>().begin());
  } else {
    labels_ = context.make(ElementType::int64, {static_cast<std::int64_t>(numbers->size())});
    std::copy(numbers->begin(), numbers->end(), labels_.write<std::int64_t>().begin());
  }
}

Tensor ClassLabels::of(const KernelContext& context, std::span<const std::int64_t> classes) const {
  for (const std::int64_t label : classes) require(label < labels_.size(), "the model has fewer labels than classes");
  return pick(context, labels_, {static_cast<std::int64_t>(classes.size())}, classes);
}

std::int64_t index_of_greatest(std::span<const double> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

}  // namespace onnxkit::reference
