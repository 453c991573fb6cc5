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

  /// The fastest of `count` ways to make a call of a step of `plan`, all of which `use` switches to; that one is used at the end. A way that fails is
  /// none; where all do, the first is used.
  std::optional<std::size_t> fastest(LibraryCall& call, const plan::Plan& plan, std::size_t count,
                                     const std::function<void(std::size_t)>& use);

  /// Seconds that the device takes for a call that is launched as a part of a graph: the least of several; after one run only, where that took more
  /// than twice `best`.
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
