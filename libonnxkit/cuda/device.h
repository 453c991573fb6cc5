#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "libonnxkit/cuda/libraries/driver.h"

namespace onnxkit::cuda {

/// What a device is.
struct DeviceFacts {
  int number = 0;
  std::string name;
  int capability = 0;  ///< 10 * major + minor
};

inline constexpr int oldest_capability = 80;

/// All devices of the driver. Error device-missing: there is none.
Result<std::vector<DeviceFacts>> list_devices(const Driver& driver);

/// A device in use: its primary context, which other libraries of this process share.
class Device {
 public:
  /// Errors: device-missing when it is older than `oldest_capability`; device-failed.
  static Result<std::shared_ptr<const Device>> use(std::shared_ptr<const Driver> driver, DeviceFacts facts);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  const Driver& driver() const { return *driver_; }
  const DeviceFacts& facts() const { return facts_; }
  DriverContext context() const { return context_; }

  /// Of what was allocated by it, at once.
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  void note_allocated(std::uint64_t bytes) const {
    held_bytes_ += bytes;
    peak_bytes_ = std::max<std::uint64_t>(peak_bytes_, held_bytes_);
  }
  void note_freed(std::uint64_t bytes) const { held_bytes_ -= bytes; }

 private:
  Device(std::shared_ptr<const Driver> driver, DeviceFacts facts)
      : driver_(std::move(driver)), facts_(std::move(facts)) {}

  std::shared_ptr<const Driver> driver_;
  DeviceFacts facts_;
  DriverDevice handle_ = 0;
  DriverContext context_ = nullptr;
  mutable std::atomic<std::uint64_t> held_bytes_ = 0, peak_bytes_ = 0;
};

/// Makes the context of a device that of this thread while it lives.
class Current {
 public:
  explicit Current(const Device& device);
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();

  Result<void> check() const { return device_.driver().check(status_, "using its context"); }

 private:
  const Device& device_;
  DriverStatus status_;
};

/// A handle of the driver that is given back at the end, in the context of its device.
template <class Handle, DriverStatus (*DriverFunctions::*give_back)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(std::shared_ptr<const Device> device, Handle handle) : device_(std::move(device)), handle_(handle) {}
  Owned(Owned&& other) noexcept : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, Handle())) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (!handle_) return;
    const Current current(*device_);
    (void)(device_->driver().operator->()->*give_back)(handle_);
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle(); }

 private:
  std::shared_ptr<const Device> device_;
  Handle handle_{};
};

using Stream = Owned<DriverStream, &DriverFunctions::stream_destroy>;
using LoadedModule = Owned<DriverModule, &DriverFunctions::module_unload>;
using Event = Owned<DriverEvent, &DriverFunctions::event_destroy>;
using RunnableGraph = Owned<DriverExec, &DriverFunctions::graph_exec_destroy>;
using PinnedMemory = Owned<void*, &DriverFunctions::mem_free_host>;

struct Uncount {
  std::uint64_t bytes;
  void operator()(const Device* device) const { device->note_freed(bytes); }
};

/// Memory on the device, which its device counts.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const std::shared_ptr<const Device>& device, DevicePointer memory, std::uint64_t bytes)
      : memory_(device, memory), counted_(device.get(), Uncount{bytes}) {
    device->note_allocated(bytes);
  }

  DevicePointer get() const { return memory_.get(); }

 private:
  Owned<DevicePointer, &DriverFunctions::mem_free> memory_;
  std::unique_ptr<const Device, Uncount> counted_;  ///< before the memory, which keeps the device
};

/// What libraries ask of pointers, and what the driver gives.
inline constexpr std::uint64_t device_alignment = 256;
/// At least one unit of it.
inline std::uint64_t aligned_bytes(std::uint64_t bytes) {
  return ((bytes == 0 ? 1 : bytes) + device_alignment - 1) / device_alignment * device_alignment;
}

/// What a block of so many bytes takes: whole pages from one MiB on, smaller blocks share one.
inline std::uint64_t block_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t page = std::uint64_t{2} << 20;
  return bytes < page / 2 ? aligned_bytes(bytes) : (bytes + page - 1) / page * page;
}

/// What follows is called while the device is current. Errors: out-of-memory, device-failed.
Result<Stream> make_stream(const std::shared_ptr<const Device>& device);
Result<Event> make_event(const std::shared_ptr<const Device>& device, unsigned flags = 0);
/// `what` it is for: "the values between the steps". At least a byte.
Result<DeviceMemory> allocate(const std::shared_ptr<const Device>& device, std::uint64_t bytes, std::string_view what);
Result<PinnedMemory> allocate_pinned(const std::shared_ptr<const Device>& device, std::uint64_t bytes);
/// What `enqueue` puts on the stream, which runs nothing meanwhile, as a graph that can be run.
Result<RunnableGraph> capture_graph(const std::shared_ptr<const Device>& device, DriverStream stream,
                                    const std::function<Result<void>()>& enqueue);

}  // namespace onnxkit::cuda
