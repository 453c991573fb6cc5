// The library of ONNX Runtime that ONNXKIT_REAL_ONNXRUNTIME names, as if it had the execution provider cuda: what is asked of that goes to standard
// error, and the CPU computes. Memory of the device is memory of the host, as in cudart.cpp.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

struct Base {
  const void* (*get_table)(std::uint32_t version);
  const char* (*get_version)();
};

constexpr std::size_t places = 220, create_memory_info = 68, available_providers = 125, release_providers = 126,
                      add_run_setting = 165, append_cuda = 204, create_options = 205, set_options = 206,
                      release_options = 208;

const Base* real = nullptr;
std::array<void*, places> table;

using CreateMemoryInfo = void*(const char* name, int allocator, int device, int memory, void** made);
using AddRunSetting = void*(void* options, const char* key, const char* value);
CreateMemoryInfo* real_create_memory_info = nullptr;
AddRunSetting* real_add_run_setting = nullptr;

void* memory_info(const char*, int allocator, int device, int memory, void** made) {
  return real_create_memory_info("Cpu", allocator, device, memory, made);
}

void* providers(char*** names, int* count) {
  static std::array<char*, 2> all = {const_cast<char*>("CPUExecutionProvider"),
                                     const_cast<char*>("CUDAExecutionProvider")};
  *names = all.data();
  *count = static_cast<int>(all.size());
  return nullptr;
}

void* keep_providers(char**, int) { return nullptr; }

void* run_setting(void* options, const char* key, const char* value) {
  std::fprintf(stderr, "run %s=%s\n", key, value);
  return real_add_run_setting(options, key, value);
}

void* append(void*, const void*) { return nullptr; }

void* make_options(void** made) {
  *made = std::malloc(1);
  return nullptr;
}

void* take_options(void*, const char* const* keys, const char* const* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) std::fprintf(stderr, "cuda %s=%s\n", keys[i], values[i]);
  return nullptr;
}

const void* get_table(std::uint32_t version) {
  const auto* all = static_cast<void* const*>(real->get_table(version));
  if (all == nullptr) return nullptr;
  for (std::size_t i = 0; i < places; ++i) table[i] = all[i];
  real_create_memory_info = reinterpret_cast<CreateMemoryInfo*>(table[create_memory_info]);
  real_add_run_setting = reinterpret_cast<AddRunSetting*>(table[add_run_setting]);
  table[create_memory_info] = reinterpret_cast<void*>(memory_info);
  table[available_providers] = reinterpret_cast<void*>(providers);
  table[release_providers] = reinterpret_cast<void*>(keep_providers);
  table[add_run_setting] = reinterpret_cast<void*>(run_setting);
  table[append_cuda] = reinterpret_cast<void*>(append);
  table[create_options] = reinterpret_cast<void*>(make_options);
  table[set_options] = reinterpret_cast<void*>(take_options);
  table[release_options] = reinterpret_cast<void*>(std::free);
  return table.data();
}

const char* get_version() { return real->get_version(); }

constexpr Base base = {get_table, get_version};

}  // namespace

extern "C" __attribute__((visibility("default"))) const Base* OrtGetApiBase() {
  const char* path = std::getenv("ONNXKIT_REAL_ONNXRUNTIME");
  void* handle = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (handle == nullptr) return nullptr;
  real = reinterpret_cast<const Base* (*)()>(dlsym(handle, "OrtGetApiBase"))();
  return &base;
}
