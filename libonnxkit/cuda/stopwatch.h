#pragma once

#include "libonnxkit/cuda/device.h"
#include "libonnxkit/cuda/step.h"

namespace onnxkit::cuda {

/// Times calls of libraries on memory of its own, whatever that holds, so that the fastest of several ways can be taken. Used while the device is
/// current.
class Stopwatch {
 public:
  /// Errors: device-failed.
  static Result<std::unique_ptr<Stopwatch>> make(const std::shared_ptr<const Device>& device);

  /// Seconds that the device takes for a call of a step of `plan`, launched as a part of a graph: the least of several; after one run only, where
  /// that took more than twice `best`. Errors: those of the call; out-of-memory.
  Result<double> seconds_of(LibraryCall& call, const plan::Plan& plan, double best);

 private:
  explicit Stopwatch(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  Result<void> reserve(std::uint64_t bytes);
  Result<RunnableGraph> capture(LibraryCall& call, std::span<void* const> pointers, void* workspace, int times);
  Result<double> run(const RunnableGraph& graph);

  std::shared_ptr<const Device> device_;
  Stream stream_;
  Event start_, end_;
  DeviceMemory memory_;
  std::uint64_t bytes_ = 0;
};

}  // namespace onnxkit::cuda
