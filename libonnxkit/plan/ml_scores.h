#pragma once

#include <span>

#include "libonnxkit/plan/compose.h"

// What linear models, support vector machines and trees of ai.onnx.ml share: rows of features, scores and labels.
namespace onnxkit::plan {

/// The attribute post_transform, which TreeEnsemble numbers. PROBIT has no steps.
enum class PostTransform : std::uint8_t { none, softmax, softmax_zero, logistic };
std::optional<PostTransform> post_transform_of(LowerCall& call);
inline constexpr char no_such_transform[] = "quantiles of the normal distribution";

/// Why input 0 is no [n, features] or [features] of numbers.
Unlowered unfit_features(LowerCall& call);
/// Input 0 as [n, features] of float32 or float64. Precondition: it is fit.
View feature_rows(LowerCall& call, ElementType type);

/// Sums of columns times coefficients, with an intercept for each set of them: [rows, sets], of float32 for float32 and of float64 for others.
struct LinearSums {
  View sums = {};
  Unlowered refused = {};
};
LinearSums linear_sums(LowerCall& call, std::span<const float> coefficients, std::span<const float> intercepts,
                       std::int64_t sets);

/// Sums [rows, n] behind the transform of each row, as float32 or float64, into a view in row-major order.
void write_scores(LowerCall& call, const View& sums, PostTransform how, const View& to);
/// The scores of two classes from the sum of the second [rows, 1] alone, into [rows, 2]. Only LOGISTIC changes them. The first is `turned` less the sum.
void write_both_scores(LowerCall& call, const View& sums, bool is_logistic, double turned, const View& to);

/// Output 0: for each row the label of its class. `classes` holds one integer for each row.
void give_labels(LowerCall& call, std::span<const std::int64_t> labels, const View& classes);

}  // namespace onnxkit::plan
