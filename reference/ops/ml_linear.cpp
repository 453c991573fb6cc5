// ai.onnx.ml: linear models. One version each.
#include "reference/kernels/contract.h"
#include "reference/kernels/ml.h"

namespace onnxkit::reference {
namespace {

/// rows * coefficients^T + intercepts, [N, E]: `count` contiguous sets of coefficients.
Tensor weighted_sums(const KernelContext& context, const Tensor& rows, std::int64_t count) {
  const auto coefficients = context.reals("coefficients").value_or(std::vector<float>());
  const auto intercepts = context.reals("intercepts").value_or(std::vector<float>());
  const std::int64_t features = rows.dim(1);
  const Dims dims = {count, features};
  require(count > 0 && static_cast<std::int64_t>(coefficients.size()) == element_count(dims),
          "there must be one coefficient per feature of each class or target");
  require(intercepts.empty() || static_cast<std::int64_t>(intercepts.size()) == count,
          "there must be one intercept per class or target");
  Tensor weights = context.make(ElementType::float64, dims);
  std::copy(coefficients.begin(), coefficients.end(), weights.write<double>().begin());
  Tensor sums = context.make(ElementType::float64, {rows.dim(0), count});
  const std::span<double> out = sums.write<double>();
  for (std::size_t i = 0; i < out.size() && !intercepts.empty(); ++i) out[i] = intercepts[i % intercepts.size()];
  gemm(context.threads(), row_major(rows.as<double>().data(), rows.dim(0), features),
       row_major(weights.as<double>().data(), count, features).transposed(), row_major(out.data(), rows.dim(0), count),
       true, [&] { context.check_alive(); });
  return sums;
}

void linear_regressor(KernelContext& context) {
  const PostTransform how = post_transform_of(context);
  const Tensor rows = feature_rows(context, context.input(0));
  const std::int64_t targets = context.integer("targets", 1);
  Tensor y = weighted_sums(context, rows, targets).retyped(ElementType::float32);
  const std::span<double> out = y.write<double>();
  for (std::size_t i = 0; i < out.size(); i += static_cast<std::size_t>(targets))
    transform(how, out.subspan(i, static_cast<std::size_t>(targets)));
  context.set_output(0, std::move(y));
}

/// The scores of both classes from that of the second alone. Softmax leaves them as they are, as in ONNX Runtime.
void both_scores(PostTransform how, double score, std::span<double> scores) {
  scores[0] = 1 - score;
  scores[1] = score;
  if (how == PostTransform::logistic) scores[0] = -score;
  if (how == PostTransform::logistic || how == PostTransform::probit) transform(how, scores);
}

void linear_classifier(KernelContext& context) {
  const PostTransform how = post_transform_of(context);
  const Tensor rows = feature_rows(context, context.input(0));
  const ClassLabels labels(context, "classlabels_ints", "classlabels_strings");
  const auto intercepts = context.reals("intercepts");
  const std::size_t sets = intercepts && !intercepts->empty() ? intercepts->size() : labels.size();
  const bool binary = sets == 1 && labels.size() == 2;
  const Tensor sums = weighted_sums(context, rows, static_cast<std::int64_t>(sets));
  const std::size_t columns = binary ? 2 : sets;
  Tensor z = context.make(ElementType::float32, {rows.dim(0), static_cast<std::int64_t>(columns)});
  const std::span<double> out = z.write<double>();
  std::vector<std::int64_t> classes;
  for (std::size_t i = 0; i * columns < out.size(); ++i) {
    const std::span<const double> row = sums.as<double>().subspan(i * sets, sets);
    const std::span<double> scores = out.subspan(i * columns, columns);
    if (binary) {
      classes.push_back(row[0] > 0 ? 1 : 0);
      both_scores(how, row[0], scores);
    } else {
      classes.push_back(index_of_greatest(row));
      std::copy(row.begin(), row.end(), scores.begin());
      transform(how, scores);
    }
  }
  context.set_output(0, labels.of(context, classes));
  context.set_output(1, std::move(z));
}

}  // namespace

void register_ml_linear(KernelRegistry& registry) {
  registry.add(ml_domain, "LinearRegressor", all_versions(), linear_regressor, {.noise = noise::terms});
  registry.add(ml_domain, "LinearClassifier", all_versions(), linear_classifier, {.noise = noise::terms});
}

}  // namespace onnxkit::reference
