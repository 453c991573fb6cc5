#pragma once

#include <memory>
#include <vector>

#include "libonnxkit/base/system/lent_memory.h"
#include "libonnxkit/cpu/step.h"
#include "libonnxkit/plan/planned.h"

namespace onnxkit::cpu {

/// What all plans of a session share.
struct Shared {
  exec::LoadOptions load;
  std::shared_ptr<exec::Backend> host;
  PackedWeights packed;
};

/// A plan with its kernels and its memory.
class ReadyPlan : public plan::Executable {
 public:
  /// As PlannedOptions::make, but refuses no step that the kernel registry takes. Throws std::bad_alloc.
  static Result<std::unique_ptr<plan::Executable>> make(plan::Plan plan, Shared& shared, const plan::PlannedRun& run);

  const plan::Plan& plan() const override { return plan_; }
  std::uint64_t bytes() const override { return plan::memory_bytes(plan_) + held_bytes_; }
  std::uint64_t shared_bytes() const override { return packed_bytes_; }
  Result<std::vector<Value>> run(std::span<const Value> inputs, const plan::PlannedRun& run) override;

 private:
  ReadyPlan(plan::Plan plan, std::shared_ptr<ThreadPool> threads);
  /// Constants of the step that no kernel reads from now on.
  void release_packed(const Preparation& preparation, const plan::Step& step, const std::vector<std::uint32_t>& reads);
  /// At the first run, whose limit of memory is known.
  Result<void> make_arena();
  Result<void> bind_inputs(std::span<const Value> inputs);
  Result<void> bind_outputs();
  std::vector<Value> take_outputs();
  void drop_values();

  plan::Plan plan_;
  std::shared_ptr<ThreadPool> threads_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<const plan::Step*> kernel_steps_;  ///< of each kernel
  std::uint64_t packed_bytes_ = 0;               ///< of weights that kernels hold
  std::uint64_t held_bytes_ = 0;                 ///< of room that they keep for operands of the run
  std::uint64_t scratch_bytes_ = 0;              ///< the most that one of them takes while it runs
  Block arena_;
  std::vector<bool> are_read_;  ///< by buffer
  std::vector<std::byte*> bases_;
  std::vector<Value> slots_;
  std::vector<LentMemory> outputs_;
  std::vector<std::shared_ptr<std::byte>> written_;  ///< by output; what this run writes
  std::vector<std::vector<std::byte>> copies_;       ///< of inputs that lie askew
  std::vector<PackedWeights::Floats> constants_;     ///< copies of those that lie askew in the file
};

}  // namespace onnxkit::cpu
