#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/plan/planned.h"
#include "libonnxkit/plan/sequence_node.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::plan {

/// Where the host steps of a plan are among its steps. The plan outlives it.
class HostSteps {
 public:
  explicit HostSteps(const Plan& plan);

  const Plan& plan() const { return plan_; }
  /// How many host steps are before this one.
  std::uint64_t number_of(const Step& step) const;
  /// Whether nothing reads the slot behind this input of the step, outputs of the plan among what reads.
  bool is_last_read(const Step& step, std::size_t input) const;

 private:
  struct Read {
    std::size_t step = 0, input = 0;
  };
  std::size_t index_of(const Step& step) const { return static_cast<std::size_t>(&step - plan_.steps.data()); }

  const Plan& plan_;
  std::vector<std::uint64_t> numbers_;           ///< by step
  std::vector<std::optional<Read>> last_reads_;  ///< by slot; nothing for outputs
};

/// A host step made ready: a node on the reference, with its operands in memory of the host.
class HostNode {
 public:
  /// The step's number among the host steps sets random operators of one run apart. Errors: those of loading.
  static Result<HostNode> make(const HostSteps& steps, const Step& step, exec::Backend& host,
                               const exec::LoadOptions& options);

  /// `bases` by buffer, null for slots. What nobody reads any more leaves its slot. Errors: those of Session::run.
  Result<void> run(std::byte* const* bases, Value* slots, const PlannedRun& run);

 private:
  struct Operand {
    View view;
    std::optional<std::size_t> slot;
    bool is_last_read = false;  ///< of the slot
  };

  HostNode() = default;
  /// Of buffers a view, or with `owns` a copy.
  static Result<Value> value_of(std::byte* const* bases, const Value* slots, const Operand& operand, bool owns);
  Result<void> run_node(std::byte* const* bases, Value* slots, const PlannedRun& run);
  /// Whether the sequence node gave the output. `limit`: of the bytes that the sequence may hold, or 0; beyond it the reference counts them.
  Result<bool> run_sequence(std::byte* const* bases, Value* slots, std::uint64_t limit) const;
  static std::span<std::byte> bytes_of(std::byte* const* bases, const View& view);
  /// Whether the tensor views an operand's memory, as an output of a body does that is one of its inputs.
  bool views_operand(std::byte* const* bases, const Tensor& tensor) const;
  /// Copies what views operands, alone or inside: other steps write there.
  Result<void> make_lasting(std::byte* const* bases, Value& value) const;
  Result<void> take_output(std::byte* const* bases, Value* slots, const Operand& output, Value& value) const;

  std::vector<Operand> inputs_, outputs_;
  std::unique_ptr<exec::Session> session_;
  std::shared_ptr<ControlFlow> control_;  ///< in place of the session
  std::optional<SequenceNode> sequence_;  ///< likewise, where it takes the inputs
  std::vector<std::string> names_;        ///< of the inputs
  std::uint64_t seed_ = 0;
};

}  // namespace onnxkit::plan
