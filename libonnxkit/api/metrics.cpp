#include "onnxkit/metrics.h"

#include "libonnxkit/compare/metrics/metrics.h"
#include "libonnxkit/compare/outcome/outcome.h"
#include "libonnxkit/compare/outcome/task_registry.h"

namespace onnxkit {

Result<Metrics> compare(const Tensor& a, const Tensor& b, std::size_t worst) {
  return comparison::compare(a, b, worst);
}

std::vector<TaskInfo> tasks() {
  std::vector<TaskInfo> all;
  for (const comparison::Task& task : comparison::task_registry().tasks()) all.push_back({task.name, task.meaning});
  return all;
}

std::string_view guess_task(const Tensor& tensor) { return comparison::guess_task(tensor); }

Result<Outcome> outcome(std::string_view task, const Tensor& a, const Tensor& b, const Tensor& a_scores,
                        const Tensor& b_scores) {
  return comparison::outcome(task, a, b, a_scores, b_scores);
}

std::string sentence_of(const Outcome& outcome) {
  const comparison::Task* const task = comparison::task_registry().find(outcome.task);
  return task ? task->sentence(outcome) : std::string();
}

}  // namespace onnxkit
