#include "libonnxkit/cuda/device.h"

#include <algorithm>

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

Result<DeviceFacts> facts_of(const Driver& driver, int number) {
  DeviceFacts facts;
  facts.number = number;
  DriverDevice device = 0;
  int major = 0, minor = 0;
  constexpr int most = 256;
  std::string name(most, '\0');
  DriverStatus status = driver->device_get(&device, number);
  if (status == driver_success) status = driver->device_get_name(name.data(), most - 1, device);
  if (status == driver_success) status = driver->device_get_attribute(&major, attribute_major, device);
  if (status == driver_success) status = driver->device_get_attribute(&minor, attribute_minor, device);
  if (auto told = driver.check(status, "telling what it is"); !told) return told.error();
  name.resize(std::min(name.find('\0'), name.size()));
  facts.name = std::move(name);
  facts.capability = major * 10 + minor;
  return facts;
}

}  // namespace

Result<std::vector<DeviceFacts>> list_devices(const Driver& driver) {
  int count = 0;
  if (auto told = driver.check(driver->device_get_count(&count), "telling the number of devices"); !told)
    return told.error();
  if (count <= 0) return make_error("device-missing", "the driver knows no GPU");
  std::vector<DeviceFacts> devices;
  for (int number = 0; number < count; ++number) {
    auto facts = facts_of(driver, number);
    if (!facts) return facts.error();
    devices.push_back(*std::move(facts));
  }
  return devices;
}

Result<std::shared_ptr<const Device>> Device::use(std::shared_ptr<const Driver> driver, DeviceFacts facts) {
  if (facts.capability < oldest_capability)
    return make_error(
        "device-missing",
        fmt::format("the GPU {} has compute capability {}.{}, onnxkit needs {}.{} or newer", facts.name,
                    facts.capability / 10, facts.capability % 10, oldest_capability / 10, oldest_capability % 10));
  std::shared_ptr<Device> device(new Device(std::move(driver), std::move(facts)));
  const Driver& call = *device->driver_;
  DriverStatus status = call->device_get(&device->handle_, device->facts_.number);
  if (status == driver_success) status = call->device_primary_ctx_retain(&device->context_, device->handle_);
  if (auto retained = call.check(status, "making its context"); !retained) return retained.error();
  return std::shared_ptr<const Device>(std::move(device));
}

Device::~Device() {
  if (!context_) return;
  (void)(*driver_)->device_primary_ctx_release(handle_);
}

Current::Current(const Device& device)
    : device_(device), status_(device.driver()->ctx_push_current(device.context())) {}

Current::~Current() {
  DriverContext popped = nullptr;
  if (status_ == driver_success) (void)device_.driver()->ctx_pop_current(&popped);
}

Result<Stream> make_stream(const std::shared_ptr<const Device>& device) {
  DriverStream stream = nullptr;
  const Driver& driver = device->driver();
  if (auto made = driver.check(driver->stream_create(&stream, stream_non_blocking), "making a stream"); !made)
    return made.error();
  return Stream(device, stream);
}

Result<Event> make_event(const std::shared_ptr<const Device>& device, unsigned flags) {
  DriverEvent event = nullptr;
  if (auto made = device->driver().check(device->driver()->event_create(&event, flags), "making an event"); !made)
    return made.error();
  return Event(device, event);
}

Result<DeviceMemory> allocate(const std::shared_ptr<const Device>& device, std::uint64_t bytes, std::string_view what) {
  DevicePointer memory = 0;
  const Driver& driver = device->driver();
  const DriverStatus status = driver->mem_alloc(&memory, std::max<std::uint64_t>(bytes, 1));
  if (status == driver_success) return DeviceMemory(device, memory, std::max<std::uint64_t>(bytes, 1));
  std::size_t free = 0, total = 0;
  const bool knows = driver->mem_get_info(&free, &total) == driver_success;
  const std::string doing = knows ? fmt::format("{}: {} bytes, of {} bytes {} are free", what, bytes, total, free)
                                  : fmt::format("{}: {} bytes", what, bytes);
  return driver.check(status, doing).error();
}

Result<PinnedMemory> allocate_pinned(const std::shared_ptr<const Device>& device, std::uint64_t bytes) {
  void* memory = nullptr;
  const Driver& driver = device->driver();
  const DriverStatus status = driver->mem_alloc_host(&memory, std::max<std::uint64_t>(bytes, 1));
  if (status == driver_out_of_memory)
    return make_error("out-of-memory",
                      fmt::format("the system has no {} bytes of memory that the GPU can reach", bytes));
  if (auto made = driver.check(status, "getting memory of the host"); !made) return made.error();
  return PinnedMemory(device, memory);
}

Result<RunnableGraph> capture_graph(const std::shared_ptr<const Device>& device, DriverStream stream,
                                    const std::function<Result<void>()>& enqueue) {
  const Driver& driver = device->driver();
  if (auto begun = driver.check(driver->stream_begin_capture(stream, capture_relaxed), "recording a graph"); !begun)
    return begun.error();
  auto enqueued = enqueue();
  DriverGraph graph = nullptr;
  const DriverStatus ended = driver->stream_end_capture(stream, &graph);
  const auto destroy = [&driver](DriverGraph made) { (void)driver->graph_destroy(made); };
  const std::unique_ptr<std::remove_pointer_t<DriverGraph>, decltype(destroy)> owner(graph, destroy);
  if (!enqueued) return enqueued.error();
  if (auto recorded = driver.check(ended, "recording a graph"); !recorded) return recorded.error();
  DriverExec exec = nullptr;
  if (auto made = driver.check(driver->graph_instantiate(&exec, graph, 0), "making a graph ready"); !made)
    return made.error();
  return RunnableGraph(device, exec);
}

}  // namespace onnxkit::cuda
