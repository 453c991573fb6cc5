#include "libonnxkit/compare/outcome/outcome.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/compare/metrics/elements.h"
#include "libonnxkit/compare/outcome/task_registry.h"
#include "libonnxkit/compare/outcome/tensor_forms.h"

namespace onnxkit::comparison {

void register_all_tasks(TaskRegistry& registry);  // written by CMake

const Task* TaskRegistry::find(std::string_view name) const {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& task) { return task.name == name; });
  return found == tasks_.end() ? nullptr : &*found;
}

const TaskRegistry& task_registry() {
  static const TaskRegistry registry = [] {
    TaskRegistry all;
    register_all_tasks(all);
    return all;
  }();
  return registry;
}

std::optional<double> figure(const Outcome& outcome, std::string_view name) {
  for (const auto& [key, value] : outcome.figures) {
    if (key == name) return value;
  }
  return {};
}

std::string_view guess_task(const Tensor& tensor) {
  for (const Task& task : task_registry().tasks()) {
    if (task.is_likely && task.is_likely(tensor)) return task.name;
  }
  return no_task;
}

Result<Outcome> outcome(std::string_view name, const Tensor& a, const Tensor& b, const Tensor& a_scores,
                        const Tensor& b_scores, int threads) {
  if (name == no_task) return Outcome();
  const Task* const task = task_registry().find(name);
  if (!task) return make_error("unknown-option", fmt::format("unknown task {}", quote(std::string(name))));
  for (const Tensor* tensor : {&a, &b}) {
    if (!are_numbers(tensor->type())) return undefined_for_type("outcomes", *tensor);
  }
  if (!task->sizes_may_differ && a.dims() != b.dims()) return shape_mismatch(a, b);
  auto outcome = task->measure({a, b, a_scores, b_scores, threads});
  if (outcome) outcome->task = task->name;
  return outcome;
}

}  // namespace onnxkit::comparison
