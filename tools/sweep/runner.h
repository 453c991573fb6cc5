#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "onnxkit/result.h"

// Commands of onnxkit in processes of their own, several at a time.
namespace onnxkit::tools {

struct SweepJob {
  std::size_t index = 0;           ///< of the model
  std::vector<std::string> words;  ///< of the command line, without the program
  std::string path;                ///< of the model, for machines that may lack it
};

/// How a job ended: with an exit status, by a signal, or because its time was up.
struct JobEnd {
  std::size_t index = 0;
  std::optional<int> status;
  std::string signal;
  bool is_late = false;
  std::string failure = {};  ///< why it could not be started
  double seconds = 0, cpu_seconds = 0;
  std::uint64_t peak_bytes = 0;
  std::string host = {};  ///< where it ran, unless that is here
  std::string output = {}, messages = {};
};

struct JobLimits {
  int processors = 1;         ///< of each job
  std::uint64_t time_ms = 0;  ///< of each job; 0: any
};

/// Is told of each job when it has ended; false ends the others, of which it is not told.
using OnJobEnd = std::function<bool(JobEnd)>;

/// On this machine: as many at a time as there are processors for them. Those that run when `stop` asks are ended, and not told of.
Result<void> run_here(std::span<const SweepJob> jobs, const JobLimits& limits, const OnJobEnd& on_end,
                      const std::stop_token& stop);

struct RayCluster {
  std::string address;     ///< "auto", "local", "ray://HOST:PORT", "HOST:PORT"
  std::string python;      ///< that has the package ray
  std::uint64_t gpus = 0;  ///< of each job
};

/// On the nodes of a Ray cluster, which have onnxkit, of this version, and the models under the same paths. Errors: worker-start, worker-unavailable (no cluster, no
/// package), worker-protocol, worker-failed.
Result<void> run_on_ray(std::span<const SweepJob> jobs, const JobLimits& limits, const RayCluster& cluster,
                        const OnJobEnd& on_end, const std::stop_token& stop);

}  // namespace onnxkit::tools
