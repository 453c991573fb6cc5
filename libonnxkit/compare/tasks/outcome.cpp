#include "libonnxkit/compare/tasks/outcome.h"

#include "libonnxkit/compare/metrics/elements.h"
#include "libonnxkit/compare/tasks/tensor_forms.h"

namespace onnxkit::comparison {

Task guess_task(const Tensor& tensor) {
  const auto& dims = tensor.dims();
  const auto rank = dims.size();
  if (is_floating(tensor.type())) {
    if ((rank == 2 || rank == 3) && dims.back() >= 2) return Task::logits;
    if (rank == 4 && dims[1] >= 2 && dims[1] <= 512 && dims[2] >= 8 && dims[3] >= 8) return Task::segmentation;
  }
  const bool ids = tensor.type() == ElementType::int32 || tensor.type() == ElementType::int64;
  return ids && (rank == 1 || rank == 2) ? Task::tokens : Task::none;
}

Result<Outcome> outcome(Task task, const Tensor& a, const Tensor& b, const Tensor& a_scores, const Tensor& b_scores,
                        int threads) {
  if (task == Task::none) return Outcome();
  for (const Tensor* tensor : {&a, &b}) {
    if (!are_numbers(tensor->type())) return undefined_for_type("outcomes", *tensor);
  }
  if (task == Task::detections) return detections_outcome(a, b, a_scores, b_scores);
  if (a.dims() != b.dims()) return shape_mismatch(a, b);
  if (task == Task::logits) return logits_outcome(a, b, threads);
  if (task == Task::segmentation) return segmentation_outcome(a, b, threads);
  return tokens_outcome(a, b);
}

}  // namespace onnxkit::comparison
