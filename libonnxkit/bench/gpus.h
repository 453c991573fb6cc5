#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace onnxkit::benching {

/// What disturbs work on the GPUs of the machine, as NVIDIA's management library tells. What it does not tell stays 0.
struct GpuState {
  std::size_t others = 0;   ///< processes that compute there, but for this one
  unsigned busy = 0;        ///< percent of the last second at most, of the busiest
  double hot_seconds = 0;   ///< for which they were slowed down for their heat, since the driver started
  double weak_seconds = 0;  ///< likewise for the limit of their power
};

/// Whether GPUs are held back at a moment.
struct GpuBrakes {
  bool heat = false, power = false;
};

/// So many of the rounds of a measurement ended with GPUs held back.
struct GpuRounds {
  std::size_t all = 0, hot = 0, weak = 0;

  void add(const GpuBrakes& brakes);
};

/// The GPUs of this machine; none where the library is not installed.
class Gpus {
 public:
  static Gpus open();

  bool empty() const { return !library_; }
  GpuState now() const;
  GpuBrakes brakes() const;

 private:
  struct Library;
  std::shared_ptr<const Library> library_;
};

/// What speaks against figures that were taken between two states.
std::vector<std::string> gpu_disturbances(const GpuState& before, const GpuState& after, const GpuRounds& rounds);

}  // namespace onnxkit::benching
