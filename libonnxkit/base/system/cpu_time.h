#pragma once

#include <sys/types.h>

#include <optional>

namespace onnxkit {

/// Seconds that all threads of this process have computed so far.
double own_cpu_seconds();
/// Of another process; nothing when it has ended.
std::optional<double> cpu_seconds_of(pid_t process);

}  // namespace onnxkit
