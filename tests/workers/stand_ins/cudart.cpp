// The part of CUDA's runtime library that -b onnxruntime-lib:provider=cuda calls, on the host: device memory is memory of the process, and a stream
// has always come as far as it can.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

namespace {

std::map<void*, std::size_t> blocks;
std::size_t used = std::size_t{100} << 20;  // by someone else

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int cudaGetDeviceCount(int* count) {
  *count = std::getenv("ONNXKIT_NO_DEVICE") == nullptr ? 1 : 0;
  return 0;
}

const char* cudaGetErrorString(int status) { return status == 2 ? "out of memory" : "an error of the stand-in"; }

int cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  blocks[*memory] = bytes;
  used += bytes;
  return 0;
}

int cudaFree(void* memory) {
  used -= blocks[memory];
  blocks.erase(memory);
  std::free(memory);
  return 0;
}

int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void*) {
  std::memcpy(to, from, bytes);
  return 0;
}

int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = std::size_t{1} << 30;
  *free = *total - used;
  return 0;
}

int cudaStreamCreateWithFlags(void** stream, unsigned) {
  *stream = std::malloc(1);
  return 0;
}

int cudaStreamDestroy(void* stream) {
  std::free(stream);
  return 0;
}

int cudaStreamSynchronize(void*) { return 0; }

int cudaEventCreate(double** event) {
  *event = new double();
  return 0;
}

int cudaEventDestroy(double* event) {
  delete event;
  return 0;
}

int cudaEventRecord(double* event, void*) {
  *event = now();
  return 0;
}

int cudaEventElapsedTime(float* milliseconds, const double* start, const double* end) {
  *milliseconds = static_cast<float>((*end - *start) * 1e3);
  return 0;
}

}  // extern "C"
#pragma GCC visibility pop
