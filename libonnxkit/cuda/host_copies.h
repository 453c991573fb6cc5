#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/cuda/device.h"

namespace onnxkit::cuda {

/// Moves values between the caller's memory and pinned memory, which alone the device reads and writes at full speed. One thread at a time calls it.
class HostCopies {
 public:
  /// Outputs of so many bytes go straight to blocks that become the caller's tensors; inputs are sent while the rest of them is copied.
  static constexpr std::uint64_t large = std::uint64_t{1} << 20;

  /// `threads` that copy; 0: as many as the process may use, but no more than saturate memory.
  HostCopies(std::shared_ptr<const Device> device, int threads);

  void copy(std::byte* to, std::span<const std::byte> from);
  /// The same part by part; `done` is told of each part that is there, by its begin and size. Errors: those of `done`.
  Result<void> copy_in_parts(std::byte* to, std::span<const std::byte> from,
                             const std::function<Result<void>(std::size_t begin, std::size_t bytes)>& done);
  /// Pinned memory for an output. Blocks that callers no longer hold are used again: getting a new one takes longer than a copy. Errors: out-of-memory.
  Result<std::shared_ptr<std::byte>> block(std::uint64_t bytes);

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::uint64_t bytes = 0;
  };

  std::shared_ptr<const Device> device_;
  ThreadPool pool_;
  std::vector<Block> blocks_;
};

}  // namespace onnxkit::cuda
