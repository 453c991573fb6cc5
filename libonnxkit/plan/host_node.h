#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/plan/sequence_node.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::plan {

/// A host step made ready: a node on the reference, with its operands in memory of the host.
class HostNode {
 public:
  /// The step's number among the host steps sets random operators of one run apart. Errors: those of loading.
  static Result<HostNode> make(const Plan& plan, const Step& step, exec::Backend& host,
                               const exec::LoadOptions& options);

  /// `bases` by buffer, null for slots. Errors: those of Session::run.
  Result<void> run(std::byte* const* bases, Value* slots, const exec::RunRequest& request);

 private:
  struct Operand {
    View view;
    std::optional<std::size_t> slot;
  };

  HostNode() = default;
  /// Of buffers a view, or with `owns` a copy.
  static Result<Value> value_of(std::byte* const* bases, const Value* slots, const Operand& operand, bool owns);
  /// Whether the sequence node gave the output.
  Result<bool> run_sequence(std::byte* const* bases, Value* slots) const;
  static std::span<std::byte> bytes_of(std::byte* const* bases, const View& view);
  Result<void> take_output(std::byte* const* bases, Value* slots, const Operand& output, Value& value) const;

  std::vector<Operand> inputs_, outputs_;
  std::unique_ptr<exec::Session> session_;
  std::shared_ptr<ControlFlow> control_;  ///< in place of the session
  std::optional<SequenceNode> sequence_;  ///< likewise, where it takes the inputs
  std::vector<std::string> names_;        ///< of the inputs
  std::uint64_t seed_ = 0;
};

}  // namespace onnxkit::plan
