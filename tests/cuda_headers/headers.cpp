// Compiles only where the declarations of cuda/libraries are those of NVIDIA's headers: as many parameters, of the same kinds and sizes.
#include <cuda.h>
#include <nvrtc.h>

#include "libonnxkit/cuda/libraries/driver.h"
#include "libonnxkit/cuda/libraries/nvrtc.h"
#include "tests/cuda_headers/alike.h"

namespace {

using namespace onnxkit::cuda;

DriverFunctions driver;
NvrtcFunctions nvrtc;

#define SAME(ours, theirs) static_assert(Alike<decltype(ours), decltype(&theirs)>::value)
SAME(driver.init, cuInit);
SAME(driver.driver_get_version, cuDriverGetVersion);
SAME(driver.get_error_name, cuGetErrorName);
SAME(driver.get_error_string, cuGetErrorString);
SAME(driver.device_get_count, cuDeviceGetCount);
SAME(driver.device_get, cuDeviceGet);
SAME(driver.device_get_name, cuDeviceGetName);
SAME(driver.device_get_attribute, cuDeviceGetAttribute);
SAME(driver.device_primary_ctx_retain, cuDevicePrimaryCtxRetain);
SAME(driver.device_primary_ctx_release, cuDevicePrimaryCtxRelease_v2);
SAME(driver.ctx_push_current, cuCtxPushCurrent_v2);
SAME(driver.ctx_pop_current, cuCtxPopCurrent_v2);
SAME(driver.mem_get_info, cuMemGetInfo_v2);
SAME(driver.mem_alloc, cuMemAlloc_v2);
SAME(driver.mem_free, cuMemFree_v2);
SAME(driver.mem_alloc_host, cuMemAllocHost_v2);
SAME(driver.mem_free_host, cuMemFreeHost);
SAME(driver.memcpy_h_to_d, cuMemcpyHtoD_v2);
SAME(driver.memcpy_h_to_d_async, cuMemcpyHtoDAsync_v2);
SAME(driver.memcpy_d_to_h_async, cuMemcpyDtoHAsync_v2);
SAME(driver.stream_create, cuStreamCreate);
SAME(driver.stream_destroy, cuStreamDestroy_v2);
SAME(driver.stream_synchronize, cuStreamSynchronize);
SAME(driver.stream_begin_capture, cuStreamBeginCapture_v2);
SAME(driver.stream_end_capture, cuStreamEndCapture);
SAME(driver.event_create, cuEventCreate);
SAME(driver.event_destroy, cuEventDestroy_v2);
SAME(driver.stream_wait_event, cuStreamWaitEvent);
SAME(driver.event_record, cuEventRecordWithFlags);
SAME(driver.event_elapsed_time, cuEventElapsedTime);
SAME(driver.graph_instantiate, cuGraphInstantiateWithFlags);
SAME(driver.graph_launch, cuGraphLaunch);
SAME(driver.graph_exec_destroy, cuGraphExecDestroy);
SAME(driver.graph_destroy, cuGraphDestroy);
SAME(driver.module_load_data, cuModuleLoadData);
SAME(driver.module_unload, cuModuleUnload);
SAME(driver.module_get_function, cuModuleGetFunction);
SAME(driver.launch_kernel, cuLaunchKernel);
SAME(nvrtc.version, nvrtcVersion);
SAME(nvrtc.get_error_string, nvrtcGetErrorString);
SAME(nvrtc.get_num_supported_archs, nvrtcGetNumSupportedArchs);
SAME(nvrtc.get_supported_archs, nvrtcGetSupportedArchs);
SAME(nvrtc.create_program, nvrtcCreateProgram);
SAME(nvrtc.destroy_program, nvrtcDestroyProgram);
SAME(nvrtc.compile_program, nvrtcCompileProgram);
SAME(nvrtc.get_program_log_size, nvrtcGetProgramLogSize);
SAME(nvrtc.get_program_log, nvrtcGetProgramLog);
SAME(nvrtc.get_cubin_size, nvrtcGetCUBINSize);
SAME(nvrtc.get_cubin, nvrtcGetCUBIN);
SAME(nvrtc.get_ptx_size, nvrtcGetPTXSize);
SAME(nvrtc.get_ptx, nvrtcGetPTX);

static_assert(driver_success == CUDA_SUCCESS);
static_assert(driver_out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(attribute_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(attribute_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(event_external == CU_EVENT_RECORD_EXTERNAL);
static_assert(event_without_time == CU_EVENT_DISABLE_TIMING);
static_assert(capture_relaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(nvrtc_success == NVRTC_SUCCESS);
static_assert(nvrtc_compilation_failed == NVRTC_ERROR_COMPILATION);

}  // namespace
