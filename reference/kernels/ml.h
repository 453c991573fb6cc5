#pragma once

#include <span>
#include <string_view>

#include "reference/executor/kernel.h"
#include "reference/numerics/reals.h"

// What the operators of ai.onnx.ml share.
namespace onnxkit::reference {

inline constexpr std::string_view ml_domain = "ai.onnx.ml";

/// As reals in rows of features: [C] becomes [1, C], more than two axes are a Fault.
Tensor feature_rows(const KernelContext& context, const Tensor& x);

enum class PostTransform { none, softmax, logistic, softmax_zero, probit };
/// The attribute post_transform, a name or (TreeEnsemble) a number.
PostTransform post_transform_of(const KernelContext& context);
/// Turns the scores of one row in place.
void transform(PostTransform how, std::span<double> scores);

double logistic(double x);

/// The class labels of a classifier, strings or integers.
class ClassLabels {
 public:
  ClassLabels(const KernelContext& context, std::string_view integers, std::string_view strings);
  std::size_t size() const { return static_cast<std::size_t>(labels_.size()); }
  /// One label for each row by its index in the list; Fault beyond it.
  Tensor of(const KernelContext& context, std::span<const std::int64_t> classes) const;

 private:
  Tensor labels_;
};

/// The first of the greatest.
std::int64_t index_of_greatest(std::span<const double> scores);

}  // namespace onnxkit::reference
