#pragma once

#include <chrono>

#include "libonnxkit/exec/backend.h"
#include "onnxkit/context.h"

namespace onnxkit::running {

/// Of a run whose inputs were asked for at `start`. A process of its own has limits of its own beside that of time.
exec::RunLimits run_limits(const exec::Capabilities& capabilities, const Context& context, const Limits& own,
                           std::chrono::steady_clock::time_point start);

}  // namespace onnxkit::running
