#pragma once

#include <array>
#include <memory>
#include <span>

#include "libonnxkit/cuda/host_copies.h"

namespace onnxkit::cuda {

/// Sends what the host holds in its own memory to the device while that computes: through two pinned blocks, one of which is filled while the other is on
/// its way. Called while the device is current, by one thread at a time. Errors: out-of-memory, device-failed.
class Uploads {
 public:
  static Result<std::unique_ptr<Uploads>> make(const std::shared_ptr<const Device>& device, HostCopies& copies);

  /// Returns when the last part is on its way; the bytes may change then.
  Result<void> send(DevicePointer to, std::span<const std::byte> from);
  /// Until all is there.
  Result<void> wait();

 private:
  static constexpr std::size_t part_bytes = std::size_t{16} << 20;
  struct Part {
    PinnedMemory memory;
    Stream stream;
  };

  Uploads(std::shared_ptr<const Device> device, HostCopies& copies) : device_(std::move(device)), copies_(copies) {}
  Result<void> wait(const Part& part);

  std::shared_ptr<const Device> device_;
  HostCopies& copies_;
  std::array<Part, 2> parts_;
  std::size_t next_ = 0;
};

}  // namespace onnxkit::cuda
