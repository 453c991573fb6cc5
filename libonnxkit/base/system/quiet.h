#pragma once

#include <chrono>
#include <functional>

namespace onnxkit {

/// How waiting for quiet goes. A thread that spins may wait for a processor itself, so a moment without work proves nothing.
struct Quiet {
  std::chrono::microseconds look = std::chrono::milliseconds(1);
  std::chrono::microseconds enough = std::chrono::milliseconds(8);  ///< without work
  std::chrono::microseconds most = std::chrono::milliseconds(300);
  double most_busy = 0.1;  ///< processors that count as none
};

/// Waits until the processes of which `cpu_seconds` tells what they have computed so far, all together, compute no more. Whether they came to that.
bool wait_until_quiet(const std::function<double()>& cpu_seconds, const Quiet& quiet = {});

}  // namespace onnxkit
