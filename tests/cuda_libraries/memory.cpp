#include "tests/cuda_libraries/memory.h"

#include <dlfcn.h>
#include <link.h>

#include <bit>
#include <cstring>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::cuda_libraries {
namespace {

void call(void* work) { (*static_cast<std::function<void()>*>(work))(); }

/// A graph may be launched as long as the process lives.
void* keep(std::function<void()> work) {
  static std::mutex mutex;
  static std::deque<std::function<void()>> all;
  const std::scoped_lock lock(mutex);
  return &all.emplace_back(std::move(work));
}

/// The file of the driver that this process has loaded, from whatever folder.
std::string loaded_driver() {
  std::string path;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        if (std::string_view(info->dlpi_name).ends_with("/libcuda.so.1"))
          *static_cast<std::string*>(into) = info->dlpi_name;
        return 0;
      },
      &path);
  return path;
}

}  // namespace

std::int64_t width_of(ElementType type) { return storage_bits(type) / 8; }

double element(ElementType type, const void* first, std::int64_t at) {
  const auto* place = static_cast<const std::byte*>(first) + at * width_of(type);
  if (type == ElementType::float32) {
    float value = 0;
    std::memcpy(&value, place, sizeof(value));
    return static_cast<double>(value);
  }
  double value = 0;
  decode(type, std::span(place, static_cast<std::size_t>(width_of(type))), std::span(&value, 1));
  return value;
}

void set_element(ElementType type, void* first, std::int64_t at, double value) {
  auto* place = static_cast<std::byte*>(first) + at * width_of(type);
  encode(type, std::span<const double>(&value, 1), std::span(place, static_cast<std::size_t>(width_of(type))));
}

double as_tf32(double value) {
  constexpr std::uint32_t lost = 13, half = std::uint32_t{1} << (lost - 1);
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<double>(std::bit_cast<float>((bits + half) >> lost << lost));
}

bool run_on(void* stream, std::function<void()> work) {
  if (!stream) {
    work();
    return true;
  }
  void* const driver = ::dlopen(loaded_driver().c_str(), RTLD_NOLOAD | RTLD_NOW);
  if (!driver) return false;
  using Launch = int (*)(void*, void (*)(void*), void*);
  const auto launch = reinterpret_cast<Launch>(::dlsym(driver, "cuLaunchHostFunc"));
  return launch && launch(stream, call, keep(std::move(work))) == 0;
}

bool is_aligned(const void* pointer, std::uint64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

}  // namespace onnxkit::cuda_libraries
