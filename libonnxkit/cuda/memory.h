#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "libonnxkit/cuda/device.h"
#include "libonnxkit/plan/plan.h"

namespace onnxkit::cuda {

/// Smaller constants of a plan share one block: each block of the driver takes at least as much.
inline constexpr std::uint64_t least_alone_bytes = std::uint64_t{64} << 10;

/// Large constants on the device that the plans of a session share, by their bytes on the host. They live as long as a plan uses them: an address
/// belongs to other bytes once the plan that held them is gone.
class SharedConstants {
 public:
  using Memory = std::shared_ptr<const DeviceMemory>;
  Result<Memory> get(const std::shared_ptr<const Device>& device, std::span<const std::byte> bytes);
  /// Null where the device does not have them.
  Memory find(std::span<const std::byte> bytes) const;

 private:
  using Key = std::pair<const std::byte*, std::size_t>;  ///< the bytes on the host
  static Key key_of(std::span<const std::byte> bytes) { return {bytes.data(), bytes.size()}; }

  std::map<Key, std::weak_ptr<const DeviceMemory>> by_bytes_;
};

/// Where the buffers of a plan lie on the device, and those that the host reads or writes in its memory.
class PlanMemory {
 public:
  struct Options {
    std::vector<bool> is_shared;            ///< by buffer: a constant whose bytes this plan and others keep
    bool apart = false;                     ///< memory of its own for each buffer
    std::vector<bool> is_on_host;           ///< by buffer: a host step reads or writes it
    std::vector<std::uint64_t> workspaces;  ///< bytes by stream
    std::uint64_t fetched_bytes =
        0;  ///< outputs of so many have no place on the host, unless a host step reads or writes them
    std::vector<bool> is_on_device;  ///< by buffer: a step on the device reads or writes it
  };
  /// Called while the device is current; constants are there when it returns. Errors: out-of-memory, device-failed.
  static Result<PlanMemory> make(const std::shared_ptr<const Device>& device, const plan::Plan& plan,
                                 const Options& options, SharedConstants& shared);

  /// Of the whole buffer.
  DevicePointer begin(std::uint32_t buffer) const { return device_[buffer]; }
  /// The first element of a view.
  DevicePointer at(const plan::View& view) const;
  DevicePointer workspace(std::size_t stream) const { return workspaces_[stream]; }
  /// By buffer; null where the host has none.
  const std::vector<std::byte*>& host() const { return host_; }
  /// Zeros in all that the host may write.
  void clear_host(const plan::Plan& plan) const;
  /// That this plan alone takes on the device.
  std::uint64_t bytes() const { return bytes_; }

 private:
  PlanMemory() = default;
  Result<DevicePointer> own(const std::shared_ptr<const Device>& device, std::uint64_t bytes, std::string_view what);
  Result<void> place_constants(const std::shared_ptr<const Device>& device, const plan::Plan& plan,
                               const Options& options, SharedConstants& shared);
  Result<void> place_values(const std::shared_ptr<const Device>& device, const plan::Plan& plan,
                            const Options& options);
  Result<void> place_on_host(const std::shared_ptr<const Device>& device, const plan::Plan& plan,
                             const Options& options);

  std::vector<DeviceMemory> owned_;
  std::vector<SharedConstants::Memory> constants_;
  PinnedMemory pinned_;
  std::vector<DevicePointer> device_;  ///< by buffer; 0 for none
  std::vector<std::byte*> host_;
  std::vector<std::vector<std::byte>> copies_;  ///< of constants that lie askew in the file
  std::vector<DevicePointer> workspaces_;       ///< by stream; 0 for none
  std::uint64_t bytes_ = 0;
};

}  // namespace onnxkit::cuda
