#include "libonnxkit/onnxruntime/cuda_runtime.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include <fmt/core.h>

namespace onnxkit::onnxruntime {
namespace {

Error cuda_unavailable(std::string_view why) {
  return make_error("worker-unavailable", fmt::format("the provider cuda cannot be used: {}", why));
}

}  // namespace

Result<std::shared_ptr<const CudaRuntime>> CudaRuntime::open(std::string_view python) {
  const LibraryPlaces places = LibraryPlaces::of_environment(python);
  const auto runtime = SharedLibrary::open(places, {"libcudart.so.13", "libcudart.so.12"});
  if (!runtime) return cuda_unavailable(runtime.error().diagnostic.message);
  // A library that is open is found by its name. What is missing and needed the provider says.
  (void)SharedLibrary::open(places, {"libnvrtc.so.13", "libnvrtc.so.12"});
  (void)SharedLibrary::open(places, {"libcublasLt.so.13", "libcublasLt.so.12"});
  (void)SharedLibrary::open(places, {"libcublas.so.13", "libcublas.so.12"});
  (void)SharedLibrary::open(places, {"libcurand.so.10"});
  (void)SharedLibrary::open(places, {"libcufft.so.12", "libcufft.so.11"});
  (void)SharedLibrary::open(places, {"libcudnn.so.9"});

  auto made = std::make_shared<CudaRuntime>();
  Functions& call = made->call_;
  const bool is_whole =
      runtime->bind(call.get_device_count, "cudaGetDeviceCount") &&
      runtime->bind(call.get_error_string, "cudaGetErrorString") && runtime->bind(call.malloc, "cudaMalloc") &&
      runtime->bind(call.free, "cudaFree") && runtime->bind(call.memcpy_async, "cudaMemcpyAsync") &&
      runtime->bind(call.mem_get_info, "cudaMemGetInfo") &&
      runtime->bind(call.stream_create, "cudaStreamCreateWithFlags") &&
      runtime->bind(call.stream_destroy, "cudaStreamDestroy") &&
      runtime->bind(call.stream_synchronize, "cudaStreamSynchronize") &&
      runtime->bind(call.event_create, "cudaEventCreate") && runtime->bind(call.event_destroy, "cudaEventDestroy") &&
      runtime->bind(call.event_record, "cudaEventRecord") &&
      runtime->bind(call.event_elapsed_time, "cudaEventElapsedTime");
  if (!is_whole) return cuda_unavailable(fmt::format("{} lacks functions", runtime->path()));
  int devices = 0;
  if (const Status status = call.get_device_count(&devices); status != 0)
    return cuda_unavailable(fmt::format("no device answers: {}", call.get_error_string(status)));
  if (devices == 0) return cuda_unavailable("no device is there");
  return std::shared_ptr<const CudaRuntime>(std::move(made));
}

Result<void> CudaRuntime::checked(Status status, std::string_view doing) const {
  constexpr Status success = 0, out_of_memory = 2;
  if (status == success) return {};
  const std::string what = fmt::format("the GPU failed at {}: {}", doing, call_.get_error_string(status));
  return status == out_of_memory ? make_error("out-of-memory", what) : make_error("worker-failed", what);
}

Result<std::shared_ptr<void>> CudaRuntime::allocate(std::size_t bytes) const {
  void* memory = nullptr;
  if (auto done = checked(call_.malloc(&memory, std::max<std::size_t>(bytes, 1)), "memory for inputs and outputs");
      !done)
    return done.error();
  return std::shared_ptr<void>(memory, call_.free);
}

Result<std::shared_ptr<CudaRuntime::StreamOpaque>> CudaRuntime::make_stream() const {
  constexpr unsigned non_blocking = 1;
  Stream stream = nullptr;
  if (auto done = checked(call_.stream_create(&stream, non_blocking), "making a stream"); !done) return done.error();
  return std::shared_ptr<StreamOpaque>(stream, call_.stream_destroy);
}

Result<std::shared_ptr<CudaRuntime::EventOpaque>> CudaRuntime::make_event() const {
  Event event = nullptr;
  if (auto done = checked(call_.event_create(&event), "making an event"); !done) return done.error();
  return std::shared_ptr<EventOpaque>(event, call_.event_destroy);
}

Result<void> CudaRuntime::copy(void* to, const void* from, std::size_t bytes, Stream stream) const {
  constexpr int by_address = 4;
  if (bytes == 0) return {};
  return checked(call_.memcpy_async(to, from, bytes, by_address, stream), "copying inputs and outputs");
}

Result<void> CudaRuntime::record(Event event, Stream stream) const {
  return checked(call_.event_record(event, stream), "recording an event");
}

Result<void> CudaRuntime::wait(Stream stream) const {
  return checked(call_.stream_synchronize(stream), "waiting for it");
}

Result<double> CudaRuntime::seconds(Event start, Event end) const {
  float milliseconds = 0;
  if (auto done = checked(call_.event_elapsed_time(&milliseconds, start, end), "taking the time"); !done)
    return done.error();
  return static_cast<double>(milliseconds) * 1e-3;
}

std::optional<std::uint64_t> CudaRuntime::used_bytes() const {
  std::size_t free = 0, total = 0;
  if (call_.mem_get_info(&free, &total) != 0 || free > total) return std::nullopt;
  return total - free;
}

}  // namespace onnxkit::onnxruntime
