#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "libonnxkit/cpu/step.h"
#include "libonnxkit/exec/backend.h"
#include "libonnxkit/plan/build.h"

namespace onnxkit::cpu {

/// What all plans of a session share.
struct Shared {
  exec::LoadOptions options;
  std::shared_ptr<const spec::OpTable> table;
  std::unique_ptr<exec::Backend> host;
  std::set<std::string, std::less<>> without_passes;
  PackedWeights packed;
};

class Planned;

/// A plan with its kernels and its memory.
class ReadyPlan {
 public:
  static Result<std::unique_ptr<ReadyPlan>> make(plan::Plan plan, Shared& shared);
  ~ReadyPlan();

  /// Inputs in the order of the plan's, outputs likewise.
  Result<std::vector<Value>> run(std::span<const Value> inputs, const exec::RunRequest& request, ThreadPool& threads,
                                 std::chrono::steady_clock::time_point deadline);
  const plan::Plan& plan() const { return plan_; }
  Planned* rest() const { return rest_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  ReadyPlan(plan::Plan plan, Shared& shared);
  Result<void> bind_inputs(std::span<const Value> inputs);
  std::vector<Value> take_outputs();

  plan::Plan plan_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::unique_ptr<std::byte[], Free> arena_;
  std::vector<std::byte*> bases_;
  std::vector<Value> slots_;
  std::vector<std::vector<std::byte>> outputs_, copies_;  ///< of outputs; of inputs that lie askew
  std::list<std::vector<std::byte>> constants_;           ///< copies of those that lie askew in the file
  std::unique_ptr<Planned> rest_;
};

/// A model and the plans for the sizes that it was run with.
class Planned {
 public:
  Planned(std::shared_ptr<const ir::Model> model, Shared& shared, bool is_rest)
      : model_(std::move(model)), shared_(shared), is_rest_(is_rest) {}

  /// The outputs of the model by name. `given` has a value for each input.
  Result<std::vector<NamedValue>> run(const std::vector<NamedValue>& given, const exec::RunRequest& request,
                                      ThreadPool& threads, std::chrono::steady_clock::time_point deadline);
  /// The text of all plans, and what in them runs on the reference.
  void report(exec::PlanReport& report) const;
  /// The plan for such inputs.
  Result<ReadyPlan*> plan_for(const std::vector<NamedValue>& given);

 private:
  static constexpr std::size_t most_plans = 8;
  std::string key_of(const std::vector<NamedValue>& given) const;

  std::shared_ptr<const ir::Model> model_;
  Shared& shared_;
  bool is_rest_;
  std::list<std::pair<std::string, std::unique_ptr<ReadyPlan>>> plans_;  ///< the last used first
};

}  // namespace onnxkit::cpu
