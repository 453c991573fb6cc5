#pragma once

#include <chrono>

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/exec/session_context.h"

namespace onnxkit::running {

/// What RunOptions and SessionOptions say of loading alike.
template <class Options>
exec::LoadOptions load_options_of(const Options& options) {
  exec::LoadOptions load;
  load.context = exec::sessions_of(options.context);
  load.table = options.context.shared_table();
  load.options = options.backend_options;
  load.math = options.unrounded ? exec::MathMode::unrounded : exec::MathMode::declared;
  load.threads = options.context.limits(options.limits).threads;
  load.allow_outside_data = options.allow_outside_data;
  load.time_limit = std::chrono::milliseconds(options.context.workers().limits.load_ms);
  load.stop = options.stop;
  return load;
}

}  // namespace onnxkit::running
