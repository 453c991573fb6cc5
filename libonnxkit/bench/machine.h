#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onnxkit::benching {

/// What the machine did so far, from /proc and /sys. What a system does not tell stays 0 or empty.
struct MachineState {
  double busy = 0, stolen = 0;    ///< seconds of all processors since it started
  double held_back = 0;           ///< seconds for which the quota of the control group stopped its processes
  std::uint64_t throttles = 0;    ///< times that a processor was slowed down for its heat
  std::vector<double> megahertz;  ///< of each processor now
  double wall = 0;                ///< seconds of the steady clock

  static MachineState now();
  /// Moves a state that was taken earlier, so that what happened between the two is not counted as being behind it.
  void leave_out(const MachineState& from, const MachineState& to);
};

struct MachineDesc {
  std::string processor;
  int processors = 0;        ///< that this process may use
  std::uint64_t memory = 0;  ///< bytes

  static MachineDesc here();
};

/// What speaks against the figures that were taken between two states, in which our own processes used `own_cpu` seconds.
std::vector<std::string> disturbances(const MachineState& before, const MachineState& after, double own_cpu);

}  // namespace onnxkit::benching
