#pragma once

#include <cstddef>
#include <vector>

#include "libonnxkit/plan/plan.h"

namespace onnxkit::plan {

/// When steps run of which some may run side by side.
struct StepOrder {
  std::vector<std::size_t> streams;  ///< by step: where it runs, behind the earlier ones of the same stream
  std::vector<std::vector<std::size_t>>
      ended;  ///< by step and stream: of its steps, those before this one have ended when the step begins
};

/// Gives all buffers of the arena a place, whatever places they have: those that live at the same time do not overlap.
void place_buffers(Plan& plan);
/// The same for steps that run side by side: none has to wait for another for the sake of a place.
void place_buffers(Plan& plan, const StepOrder& order);

}  // namespace onnxkit::plan
