// ai.onnx.ml: support vector machines. One version each. With vectors_per_class the classifier decides between every pair of classes, without
// it has one linear function for each class.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/kernels/ml.h"
#include "reference/noise/noise.h"

namespace onnxkit::reference {
namespace {

using Row = std::span<const double>;
using Floats = std::span<const float>;

/// kernel_type with gamma, coef0 and degree.
class SvmKernel {
 public:
  explicit SvmKernel(const KernelContext& context) : noise_(context.noise()) {
    const std::string_view name = context.string("kernel_type");
    const auto parameters = context.reals("kernel_params").value_or(std::vector<float>());
    require(parameters.empty() || parameters.size() == 3, "kernel_params must be gamma, coef0 and degree");
    if (parameters.size() == 3) gamma_ = parameters[0], coef0_ = parameters[1], degree_ = parameters[2];
    if (name == "LINEAR")
      type_ = Type::linear;
    else if (name == "POLY")
      type_ = Type::poly;
    else if (name == "RBF")
      type_ = Type::rbf;
    else if (name == "SIGMOID")
      type_ = Type::sigmoid;
    else
      throw Fault("kernel_type is unknown");
  }

  /// `vector` is as long as the row. The terms of a decision cancel, so each has errors of its own: those of the function, and those of the sums
  /// of products and of terms.
  double operator()(Row row, Floats vector, std::uint64_t key) const {
    const double exact = value(row, vector);
    return noise_ ? exact * (1 + (4 + degree_ * std::sqrt(static_cast<double>(row.size()))) * noise_->error(key))
                  : exact;
  }

 private:
  double value(Row row, Floats vector) const {
    if (type_ == Type::rbf) {
      double distance = 0;
      for (std::size_t i = 0; i < row.size(); ++i) distance += (row[i] - vector[i]) * (row[i] - vector[i]);
      return std::exp(-gamma_ * distance);
    }
    const double product = std::inner_product(row.begin(), row.end(), vector.begin(), 0.0);
    if (type_ == Type::poly) return std::pow(gamma_ * product + coef0_, degree_);
    return type_ == Type::sigmoid ? std::tanh(gamma_ * product + coef0_) : product;
  }

  enum class Type { linear, poly, rbf, sigmoid } type_;
  double gamma_ = 0, coef0_ = 0, degree_ = 0;
  const Noise* noise_;
};

/// Vectors of one length behind each other.
class Vectors {
 public:
  Vectors(std::vector<float> values, std::size_t count, std::size_t features)
      : values_(std::move(values)), features_(features) {
    require(count == 0 ? values_.empty() : values_.size() / count == features && values_.size() % count == 0,
            "the vectors must have one entry per feature");
  }
  Floats at(std::size_t i) const { return Floats(values_).subspan(i * features_, features_); }

 private:
  std::vector<float> values_;
  std::size_t features_;
};

std::vector<float> floats(const KernelContext& context, std::string_view name) {
  return context.reals(name).value_or(std::vector<float>());
}

void svm_regressor(KernelContext& context) {
  const PostTransform how = post_transform_of(context);
  const Tensor rows = feature_rows(context, context.input(0));
  const SvmKernel kernel(context);
  const auto features = static_cast<std::size_t>(rows.dim(1));
  const std::vector<float> coefficients = floats(context, "coefficients"), rho = floats(context, "rho");
  require(rho.size() == 1, "rho must be one number");
  const std::int64_t stated = context.integer("n_supports");
  require(stated >= 0 && (stated == 0 || static_cast<std::uint64_t>(stated) == coefficients.size()),
          "there must be one coefficient per support vector");
  const auto supports = static_cast<std::size_t>(stated);
  require(supports > 0 || coefficients.size() == features, "there must be one coefficient per feature");
  const Vectors vectors(floats(context, "support_vectors"), supports, features);
  Tensor y = context.make(ElementType::float32, {rows.dim(0), 1});
  const std::span<double> out = y.write<double>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Row row = rows.as<double>().subspan(i * features, features);
    double sum = rho[0];
    for (std::size_t k = 0; k < supports; ++k)
      sum += double{coefficients[k]} * kernel(row, vectors.at(k), i * supports + k);
    if (supports == 0) sum += std::inner_product(row.begin(), row.end(), coefficients.begin(), 0.0);
    out[i] = sum;
    if (context.integer("one_class") != 0)
      out[i] = sum > 0 ? 1 : -1;
    else
      transform(how, out.subspan(i, 1));
  }
  context.set_output(0, std::move(y));
}

// ---- classifier

/// Probabilities of classes from those of pairs, r[i][j] of i against j: the second method of Wu, Lin and Weng, with libsvm's bounds.
std::vector<double> coupled(const std::vector<std::vector<double>>& r) {
  const std::size_t count = r.size();
  std::vector<std::vector<double>> q(count, std::vector<double>(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      q[i][i] += r[j][i] * r[j][i];
      q[i][j] = -r[j][i] * r[i][j];
    }
  }
  std::vector<double> p(count, 1.0 / static_cast<double>(count)), qp(count);
  for (int pass = 0; pass < 100; ++pass) {
    double pqp = 0, most = 0;
    for (std::size_t i = 0; i < count; ++i) {
      qp[i] = std::inner_product(p.begin(), p.end(), q[i].begin(), 0.0);
      pqp += p[i] * qp[i];
    }
    for (const double x : qp) most = std::max(most, std::abs(x - pqp));
    if (most < 0.005 / static_cast<double>(count)) break;
    for (std::size_t i = 0; i < count; ++i) {
      const double step = (pqp - qp[i]) / q[i][i];
      p[i] += step;
      pqp = (pqp + step * (step * q[i][i] + 2 * qp[i])) / (1 + step) / (1 + step);
      for (std::size_t j = 0; j < count; ++j) {
        qp[j] = (qp[j] + step * q[i][j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
  return p;
}

struct Decision {
  std::int64_t label;
  std::vector<double> scores;
};

struct Decisions {
  std::size_t columns;  ///< of the scores, also where there is no row
  std::vector<Decision> rows = {};
};

/// A function for every pair of classes; the class that wins most pairs is the label.
class PairwiseMachine {
 public:
  PairwiseMachine(const KernelContext& context, std::size_t features)
      : kernel_(context),
        coefficients_(floats(context, "coefficients")),
        rho_(floats(context, "rho")),
        prob_a_(floats(context, "prob_a")),
        prob_b_(floats(context, "prob_b")),
        vectors_({}, 0, features) {
    starts_.push_back(0);
    const auto counts = context.integers("vectors_per_class").value_or(std::vector<std::int64_t>());
    for (const std::int64_t count : counts) {
      require(0 <= count && count <= 1 << 30, "vectors_per_class has an invalid number");
      starts_.push_back(starts_.back() + static_cast<std::size_t>(count));
    }
    vectors_ = Vectors(floats(context, "support_vectors"), starts_.back(), features);
    const std::size_t pairs = classes() * (classes() - 1) / 2;
    require(coefficients_.size() == starts_.back() * (classes() - 1), "the number of coefficients is wrong");
    require(rho_.size() >= pairs, "there must be one rho per pair of classes");
    require(prob_a_.size() == prob_b_.size() && (prob_a_.empty() || prob_a_.size() >= pairs),
            "there must be two probability coefficients per pair of classes");
  }

  std::size_t classes() const { return starts_.size() - 1; }
  /// Scores of a row, one for each pair but that two classes have two.
  std::size_t columns() const {
    return has_probabilities() || classes() == 2 ? classes() : classes() * (classes() - 1) / 2;
  }
  bool has_probabilities() const { return !prob_a_.empty(); }

  Decision decide(Row row, std::uint64_t number) const {
    std::vector<double> kernels;
    for (std::size_t k = 0; k < starts_.back(); ++k)
      kernels.push_back(kernel_(row, vectors_.at(k), number * starts_.back() + k));
    Decision decision;
    std::vector<double> votes(classes());
    for (std::size_t i = 0; i < classes(); ++i) {
      for (std::size_t j = i + 1; j < classes(); ++j) {
        const double sum = side(kernels, i, j - 1) + side(kernels, j, i) + rho_[decision.scores.size()];
        ++votes[sum > 0 ? i : j];
        decision.scores.push_back(sum);
      }
    }
    decision.label = index_of_greatest(votes);
    if (has_probabilities()) decision.scores = probabilities(decision.scores);
    return decision;
  }

 private:
  /// What the vectors of a class add by the coefficients of set `set`.
  double side(const std::vector<double>& kernels, std::size_t of_class, std::size_t set) const {
    double sum = 0;
    for (std::size_t k = starts_[of_class]; k < starts_[of_class + 1]; ++k)
      sum += double{coefficients_[set * starts_.back() + k]} * kernels[k];
    return sum;
  }

  std::vector<double> probabilities(const std::vector<double>& scores) const {
    std::vector<std::vector<double>> pairs(classes(), std::vector<double>(classes()));
    std::size_t next = 0;
    for (std::size_t i = 0; i < classes(); ++i) {
      for (std::size_t j = i + 1; j < classes(); ++j, ++next) {
        const double p = logistic(-(scores[next] * double{prob_a_[next]} + double{prob_b_[next]}));
        pairs[i][j] = std::clamp(p, 1e-7, 1 - 1e-7);
        pairs[j][i] = 1 - pairs[i][j];
      }
    }
    return coupled(pairs);
  }

  SvmKernel kernel_;
  std::vector<float> coefficients_, rho_, prob_a_, prob_b_;
  Vectors vectors_;
  std::vector<std::size_t> starts_;
};

/// Two columns from the one function of two classes, as ONNX Runtime does it.
void finish_pair(PostTransform how, std::vector<double>& scores) {
  const double s = scores[0];
  scores = {how == PostTransform::none || how == PostTransform::logistic ? -s : 1 - s, s};
  if (how == PostTransform::logistic || how == PostTransform::probit) transform(how, scores);
}

Decisions pairwise_decisions(const KernelContext& context, const Tensor& rows) {
  const PostTransform how = post_transform_of(context);
  const auto features = static_cast<std::size_t>(rows.dim(1));
  const PairwiseMachine machine(context, features);
  require(machine.classes() >= 2, "at least two classes are required");
  Decisions decisions{.columns = machine.columns()};
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.dim(0)); ++i) {
    decisions.rows.push_back(machine.decide(rows.as<double>().subspan(i * features, features), i));
    if (machine.classes() == 2 && !machine.has_probabilities())
      finish_pair(how, decisions.rows.back().scores);
    else
      transform(how, decisions.rows.back().scores);
  }
  return decisions;
}

Decisions linear_decisions(const KernelContext& context, const Tensor& rows, std::size_t classes) {
  const PostTransform how = post_transform_of(context);
  const auto features = static_cast<std::size_t>(rows.dim(1));
  const Vectors coefficients(floats(context, "coefficients"), classes, features);
  const std::vector<float> rho = floats(context, "rho");
  require(!rho.empty() && classes > 0, "rho or the class labels are missing");
  Decisions decisions{.columns = classes};
  for (std::int64_t i = 0; i < rows.dim(0); ++i) {
    const Row row = rows.as<double>().subspan(static_cast<std::size_t>(i) * features, features);
    Decision decision;
    for (std::size_t k = 0; k < classes; ++k)
      decision.scores.push_back(std::inner_product(row.begin(), row.end(), coefficients.at(k).begin(), double{rho[0]}));
    decision.label = index_of_greatest(decision.scores);
    transform(how, decision.scores);
    decisions.rows.push_back(std::move(decision));
  }
  return decisions;
}

void svm_classifier(KernelContext& context) {
  const Tensor rows = feature_rows(context, context.input(0));
  const ClassLabels labels(context, "classlabels_ints", "classlabels_strings");
  const auto per_class = context.integers("vectors_per_class");
  const bool pairwise = per_class && !per_class->empty();
  const Decisions decisions =
      pairwise ? pairwise_decisions(context, rows) : linear_decisions(context, rows, labels.size());
  Tensor z = context.make(ElementType::float32, {rows.dim(0), static_cast<std::int64_t>(decisions.columns)});
  const std::span<double> out = z.write<double>();
  std::vector<std::int64_t> classes;
  for (const Decision& decision : decisions.rows) {
    std::copy(decision.scores.begin(), decision.scores.end(),
              out.begin() + static_cast<std::ptrdiff_t>(classes.size() * decisions.columns));
    classes.push_back(decision.label);
  }
  context.set_output(0, labels.of(context, classes));
  context.set_output(1, std::move(z));
}

}  // namespace

void register_ml_svm(KernelRegistry& registry) {
  constexpr NoiseRule terms{
      .results = 4, .input = 4, .length = NoiseRule::Length::last_axis, .rounds_beside_integers = true};
  registry.add(ml_domain, "SVMRegressor", all_versions(), svm_regressor, {.noise = terms});
  registry.add(ml_domain, "SVMClassifier", all_versions(), svm_classifier, {.noise = terms});
}

}  // namespace onnxkit::reference
