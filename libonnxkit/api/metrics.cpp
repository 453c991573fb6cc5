#include "onnxkit/metrics.h"

#include "libonnxkit/compare/metrics/metrics.h"
#include "libonnxkit/compare/tasks/outcome.h"

namespace onnxkit {

Result<Metrics> compare(const Tensor& a, const Tensor& b, std::size_t worst) {
  return comparison::compare(a, b, worst);
}

std::string_view name_of(Task task) {
  switch (task) {
    case Task::logits:
      return "logits";
    case Task::segmentation:
      return "segmentation";
    case Task::detections:
      return "detections";
    case Task::tokens:
      return "tokens";
    default:
      return "none";
  }
}

Task guess_task(const Tensor& tensor) { return comparison::guess_task(tensor); }

Result<Outcome> outcome(Task task, const Tensor& a, const Tensor& b, const Tensor& a_scores, const Tensor& b_scores) {
  return comparison::outcome(task, a, b, a_scores, b_scores);
}

}  // namespace onnxkit
