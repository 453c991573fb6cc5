#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libonnxkit/bench/bench.h"

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

/// Memory that was freed goes back to the system, so that what uses it next makes the process grow.
void give_back_freed();

/// How far this process grew at most since growth was begun, beyond what it had then. The kernel is asked to forget the peak before.
class OwnGrowth {
 public:
  OwnGrowth();
  /// Nothing where the system does not tell.
  std::optional<std::uint64_t> peak() const;
  /// What is left of it now.
  std::uint64_t kept() const;

 private:
  std::uint64_t before_ = 0;
  bool forgot_ = false;
};

/// What speaks against figures.
struct Disturbances {
  std::vector<std::string> texts;
  bool lost_processors = false;  ///< to other programs, the host or a quota
};
/// For those that were taken between two states, in which our own processes used `own_cpu` seconds.
Disturbances disturbances(const MachineState& before, const MachineState& after, double own_cpu);

}  // namespace onnxkit::benching
