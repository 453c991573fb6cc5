#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "libonnxkit/base/system/shared_library.h"

// The part of the driver's interface that onnxkit calls. Types and numbers are those of cuda.h, which tests/cuda_headers holds them against.
namespace onnxkit::cuda {

using DriverStatus = int;
inline constexpr DriverStatus driver_success = 0;
inline constexpr DriverStatus driver_out_of_memory = 2;

using DevicePointer = unsigned long long;
using DriverDevice = int;
struct DriverContextOpaque;
struct DriverStreamOpaque;
struct DriverModuleOpaque;
struct DriverFunctionOpaque;
struct DriverGraphOpaque;
struct DriverExecOpaque;
struct DriverEventOpaque;
using DriverContext = DriverContextOpaque*;
using DriverStream = DriverStreamOpaque*;
using DriverModule = DriverModuleOpaque*;
using DriverFunction = DriverFunctionOpaque*;
using DriverGraph = DriverGraphOpaque*;
using DriverExec = DriverExecOpaque*;
using DriverEvent = DriverEventOpaque*;

inline constexpr int attribute_major = 75;
inline constexpr int attribute_minor = 76;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr int capture_relaxed = 2;      ///< libraries may load kernels meanwhile
inline constexpr unsigned event_external = 1;  ///< in a capture: recorded each time the graph runs
inline constexpr unsigned event_without_time = 2;

/// The functions that are used, under their names without "cu".
struct DriverFunctions {
  DriverStatus (*init)(unsigned flags);
  DriverStatus (*driver_get_version)(int* version);
  DriverStatus (*get_error_name)(DriverStatus status, const char** text);
  DriverStatus (*get_error_string)(DriverStatus status, const char** text);
  DriverStatus (*device_get_count)(int* count);
  DriverStatus (*device_get)(DriverDevice* device, int number);
  DriverStatus (*device_get_name)(char* name, int size, DriverDevice device);
  DriverStatus (*device_get_attribute)(int* value, int attribute, DriverDevice device);
  DriverStatus (*device_primary_ctx_retain)(DriverContext* context, DriverDevice device);
  DriverStatus (*device_primary_ctx_release)(DriverDevice device);
  DriverStatus (*ctx_push_current)(DriverContext context);
  DriverStatus (*ctx_pop_current)(DriverContext* context);
  DriverStatus (*mem_get_info)(std::size_t* free, std::size_t* total);
  DriverStatus (*mem_alloc)(DevicePointer* memory, std::size_t bytes);
  DriverStatus (*mem_free)(DevicePointer memory);
  DriverStatus (*mem_alloc_host)(void** memory, std::size_t bytes);
  DriverStatus (*mem_free_host)(void* memory);
  DriverStatus (*memcpy_h_to_d)(DevicePointer to, const void* from, std::size_t bytes);
  DriverStatus (*memcpy_h_to_d_async)(DevicePointer to, const void* from, std::size_t bytes, DriverStream stream);
  DriverStatus (*memcpy_d_to_h_async)(void* to, DevicePointer from, std::size_t bytes, DriverStream stream);
  DriverStatus (*stream_create)(DriverStream* stream, unsigned flags);
  DriverStatus (*stream_destroy)(DriverStream stream);
  DriverStatus (*stream_synchronize)(DriverStream stream);
  DriverStatus (*stream_wait_event)(DriverStream stream, DriverEvent event, unsigned flags);
  DriverStatus (*stream_begin_capture)(DriverStream stream, int mode);
  DriverStatus (*stream_end_capture)(DriverStream stream, DriverGraph* graph);
  DriverStatus (*event_create)(DriverEvent* event, unsigned flags);
  DriverStatus (*event_destroy)(DriverEvent event);
  DriverStatus (*event_record)(DriverEvent event, DriverStream stream, unsigned flags);
  DriverStatus (*event_elapsed_time)(float* milliseconds, DriverEvent start, DriverEvent end);
  DriverStatus (*graph_instantiate)(DriverExec* exec, DriverGraph graph, unsigned long long flags);
  DriverStatus (*graph_launch)(DriverExec exec, DriverStream stream);
  DriverStatus (*graph_exec_destroy)(DriverExec exec);
  DriverStatus (*graph_destroy)(DriverGraph graph);
  DriverStatus (*module_load_data)(DriverModule* module, const void* image);
  DriverStatus (*module_unload)(DriverModule module);
  DriverStatus (*module_get_function)(DriverFunction* function, DriverModule module, const char* name);
  DriverStatus (*launch_kernel)(DriverFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                DriverStream stream, void** parameters, void** extra);
};

/// Shows each function with the name of its symbol in the driver.
template <class Functions, class Show>
void for_each_driver_function(Functions& f, Show show) {
  show(f.init, "cuInit");
  show(f.driver_get_version, "cuDriverGetVersion");
  show(f.get_error_name, "cuGetErrorName");
  show(f.get_error_string, "cuGetErrorString");
  show(f.device_get_count, "cuDeviceGetCount");
  show(f.device_get, "cuDeviceGet");
  show(f.device_get_name, "cuDeviceGetName");
  show(f.device_get_attribute, "cuDeviceGetAttribute");
  show(f.device_primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  show(f.device_primary_ctx_release, "cuDevicePrimaryCtxRelease_v2");
  show(f.ctx_push_current, "cuCtxPushCurrent_v2");
  show(f.ctx_pop_current, "cuCtxPopCurrent_v2");
  show(f.mem_get_info, "cuMemGetInfo_v2");
  show(f.mem_alloc, "cuMemAlloc_v2");
  show(f.mem_free, "cuMemFree_v2");
  show(f.mem_alloc_host, "cuMemAllocHost_v2");
  show(f.mem_free_host, "cuMemFreeHost");
  show(f.memcpy_h_to_d, "cuMemcpyHtoD_v2");
  show(f.memcpy_h_to_d_async, "cuMemcpyHtoDAsync_v2");
  show(f.memcpy_d_to_h_async, "cuMemcpyDtoHAsync_v2");
  show(f.stream_create, "cuStreamCreate");
  show(f.stream_destroy, "cuStreamDestroy_v2");
  show(f.stream_synchronize, "cuStreamSynchronize");
  show(f.stream_wait_event, "cuStreamWaitEvent");
  show(f.stream_begin_capture, "cuStreamBeginCapture_v2");
  show(f.stream_end_capture, "cuStreamEndCapture");
  show(f.event_create, "cuEventCreate");
  show(f.event_destroy, "cuEventDestroy_v2");
  show(f.event_record, "cuEventRecordWithFlags");
  show(f.event_elapsed_time, "cuEventElapsedTime");
  show(f.graph_instantiate, "cuGraphInstantiateWithFlags");
  show(f.graph_launch, "cuGraphLaunch");
  show(f.graph_exec_destroy, "cuGraphExecDestroy");
  show(f.graph_destroy, "cuGraphDestroy");
  show(f.module_load_data, "cuModuleLoadData");
  show(f.module_unload, "cuModuleUnload");
  show(f.module_get_function, "cuModuleGetFunction");
  show(f.launch_kernel, "cuLaunchKernel");
}

/// The GPU driver of this machine, started.
class Driver {
 public:
  /// Errors: missing-module, device-missing: no driver, one that is too old, one that does not start.
  static Result<std::shared_ptr<const Driver>> open(const LibraryPlaces& places);

  const DriverFunctions* operator->() const { return &functions_; }
  /// Of CUDA, 1000 * major + 10 * minor.
  int version() const { return version_; }
  const std::string& path() const { return path_; }

  /// An error unless `status` is success: out-of-memory or device-failed. `doing` is what failed: "allocating 12 bytes".
  Result<void> check(DriverStatus status, std::string_view doing) const;

 private:
  explicit Driver(std::string path) : path_(std::move(path)) {}
  std::string text_of(DriverStatus status) const;

  DriverFunctions functions_{};
  std::string path_;
  int version_ = 0;
};

}  // namespace onnxkit::cuda
