#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "libonnxkit/plan/plan.h"

namespace onnxkit::cuda {

/// output = input, a whole constant that the host holds. What stands behind it may run while it goes on, up to the next upload, host step, or step that
/// reads the output.
inline constexpr plan::StepKind upload_step{.name = "upload"};

/// Where constants may stay.
struct ConstantPlaces {
  std::uint64_t bytes = 0;                                   ///< on the device, for a plan and its constants
  bool streams_all = false;                                  ///< keeps none on the device, whatever would fit
  std::function<bool(std::span<const std::byte>)> is_there;  ///< whether the device has these bytes already
};

/// Whether constants would be sent for want of memory.
bool lacks_room(const plan::Plan& plan, const ConstantPlaces& places);

/// Whether constants stay on the device that could be sent, and take much of the places.
bool keeps_much(const plan::Plan& plan, const ConstantPlaces& places);

/// Sends constants to the device in each run where they do not all fit beside the values of the plan: each by an upload in front of the step that reads
/// it, while an earlier one runs. What convolutions, attentions and host steps read stays as it is. Adds a note to the plan.
void stream_constants(plan::Plan& plan, const ConstantPlaces& places);

}  // namespace onnxkit::cuda
