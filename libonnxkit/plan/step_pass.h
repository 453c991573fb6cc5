#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libonnxkit/plan/plan.h"
#include "libonnxkit/plan/staged.h"

namespace onnxkit::plan {

/// When a pass over steps runs; those of one stage in the order of their names.
enum class StepStage : std::uint8_t {
  join,    ///< maps
  attach,  ///< maps to what computes their operand
  move,    ///< results to where copies bring them
  divide,  ///< steps over parts
  place,   ///< outputs
};

/// One idea, steps to steps: the plan computes the same behind it. It makes no step that the backend does not take.
struct StepPass {
  std::string_view name;  ///< of its file, and what --without-pass names
  StepStage stage = StepStage::join;
  /// The number of steps that it removed.
  std::size_t (*run)(Plan& plan, const Takes& takes) = nullptr;
  /// Notes behind all passes what this one left, and why; null: there is nothing to say.
  void (*note_misses)(Plan& plan, const Takes& takes) = nullptr;
};

/// Filled by the register function of each file in `step_passes/`.
class StepPassRegistry : public StagedPasses<StepPass> {};

/// All of step_passes/; made once.
const StepPassRegistry& step_pass_registry();

}  // namespace onnxkit::plan
