#include "libonnxkit/base/system/quiet.h"

#include <thread>

namespace onnxkit {

bool wait_until_quiet(const std::function<double()>& cpu_seconds, const Quiet& quiet) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + quiet.most;
  Clock::time_point since = Clock::now();  // no work has been seen
  double computed = cpu_seconds();
  for (;;) {
    const Clock::time_point before = Clock::now();
    std::this_thread::sleep_for(quiet.look);
    const Clock::time_point now = Clock::now();
    const double next = cpu_seconds();
    if (next - computed > quiet.most_busy * std::chrono::duration<double>(now - before).count()) since = now;
    computed = next;
    if (now - since >= quiet.enough) return true;
    if (now >= end) return false;
  }
}

}  // namespace onnxkit
