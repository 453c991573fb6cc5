#include "libonnxkit/running/limits.h"

namespace onnxkit::running {

exec::RunLimits run_limits(const exec::Capabilities& capabilities, const Context& context, const Limits& own,
                           std::chrono::steady_clock::time_point start) {
  using std::chrono::milliseconds;
  const Limits limits = context.limits(own);
  const auto spent = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
  const milliseconds time(limits.time_ms);
  if (!capabilities.own_process)
    return {.memory = limits.memory_bytes, .time = time, .iterations = limits.iterations, .spent = spent};
  const milliseconds process(context.workers().limits.run_ms);
  const bool is_process = time.count() == 0 || (process.count() != 0 && process < time - spent);
  return {.time = is_process ? process : time, .spent = is_process ? milliseconds(0) : spent};
}

}  // namespace onnxkit::running
