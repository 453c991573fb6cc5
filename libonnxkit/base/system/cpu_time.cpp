#include "libonnxkit/base/system/cpu_time.h"

#include <time.h>

namespace onnxkit {
namespace {

std::optional<double> seconds_of(clockid_t clock) {
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) return std::nullopt;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double own_cpu_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID).value_or(0); }

std::optional<double> cpu_seconds_of(pid_t process) {
  clockid_t clock{};
  if (process <= 0 || ::clock_getcpuclockid(process, &clock) != 0) return std::nullopt;
  return seconds_of(clock);
}

}  // namespace onnxkit
