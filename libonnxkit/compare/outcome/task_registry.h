#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/diff.h"

// What a file in libonnxkit/compare/tasks gives: a meaning of outputs, its figures, and how they read.
namespace onnxkit::comparison {

struct TaskInputs {
  const Tensor &a, &b;                ///< numbers or booleans
  const Tensor &a_scores, &b_scores;  ///< of detections; may be empty
  int threads;                        ///< 0: all cores; figures must not depend on it
};

struct Task {
  std::string_view name;     ///< what `--task` calls it
  std::string_view meaning;  ///< the tensors that it is for
  /// Whether a tensor most likely has this meaning; null where only the user can tell. At most one task may claim a tensor.
  bool (*is_likely)(const Tensor& tensor) = nullptr;
  /// `a` and `b` have the same sizes unless `sizes_may_differ`.
  Result<Outcome> (*measure)(const TaskInputs& inputs) = nullptr;
  bool sizes_may_differ = false;
  /// "argmax differs in 3 of 8 rows", or "argmax is the same". The outcome may be of several sets of inputs.
  std::string (*sentence)(const Outcome& outcome) = nullptr;
  /// Pictures for the page; null where there are none.
  std::optional<ClassMaps> (*maps)(const Tensor& a, const Tensor& b) = nullptr;
};

/// Filled by the `register_<basename>` function of each file in libonnxkit/compare/tasks.
class TaskRegistry {
 public:
  void add(Task task) { tasks_.push_back(task); }
  /// By name of file.
  const std::vector<Task>& tasks() const { return tasks_; }
  /// Null when there is none of that name.
  const Task* find(std::string_view name) const;

 private:
  std::vector<Task> tasks_;
};

/// All of libonnxkit/compare/tasks; made once.
const TaskRegistry& task_registry();

/// The figure of that name.
std::optional<double> figure(const Outcome& outcome, std::string_view name);

}  // namespace onnxkit::comparison
