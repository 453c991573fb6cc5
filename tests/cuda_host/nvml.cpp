// NVIDIA's management library for two GPUs that are not there. ONNXKIT_NVML_HOST says what goes on: words "others", "busy", "hot", "weak", and "bare"
// for devices that tell only what is necessary.
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int success = 0, not_supported = 3, more_room_needed = 7;

struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned instance, compute_instance;
};
struct Utilization {
  unsigned gpu, memory;
};
struct Violation {
  unsigned long long reference_us, violation_ns;
};

int devices[2];
unsigned long long hot_ns[2] = {5'000'000'000, 6'000'000'000};

bool told(const char* word) {
  const char* words = std::getenv("ONNXKIT_NVML_HOST");
  return words != nullptr && std::strstr(words, word) != nullptr;
}

}  // namespace

EXPORT int nvmlInit_v2() { return success; }

EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return success;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = &devices[index];
  return success;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes) {
  constexpr unsigned many = 70;  // on each device
  if (told("bare")) return not_supported;
  const unsigned room = *count;
  *count = told("others") ? many : 0;
  if (room < *count) return more_room_needed;
  for (unsigned i = 0; i < *count; ++i) processes[i] = {.pid = 1, .memory = 1, .instance = 0, .compute_instance = 0};
  return success;
}

EXPORT int nvmlDeviceGetUtilizationRates(void*, Utilization* utilization) {
  if (told("bare")) return not_supported;
  *utilization = {told("busy") ? 37U : 0U, 0};
  return success;
}

EXPORT int nvmlDeviceGetViolationStatus(void* handle, int policy, Violation* violation) {
  if (told("bare") || policy != 1) return not_supported;
  unsigned long long& sum = hot_ns[static_cast<int*>(handle) - devices];
  if (told("hot")) sum += 500'000'000;
  violation->violation_ns = sum;
  return success;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  if (told("bare")) return not_supported;
  *reasons = told("weak") ? 0x4 : 0x1;
  return success;
}
