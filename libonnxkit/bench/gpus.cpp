#include "libonnxkit/bench/gpus.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "libonnxkit/base/system/shared_library.h"

namespace onnxkit::benching {
namespace {

constexpr int gpu_success = 0, gpu_more_room_needed = 7;

constexpr int power_policy = 0, thermal_policy = 1;
constexpr unsigned long long power_cap = 0x4, software_heat = 0x20, hardware_heat = 0x40, power_brake = 0x80;

}  // namespace

struct Gpus::Library {
  using Status = int;
  struct GpuHandle;

  // As nvml.h has them.
  struct GpuProcess {
    unsigned pid;
    unsigned long long memory;
    unsigned instance, compute_instance;
  };
  struct GpuUtilization {
    unsigned gpu, memory;
  };
  struct GpuViolation {
    unsigned long long reference_us, violation_ns;
  };
  static_assert(sizeof(GpuProcess) == 24);

  Status (*init)() = nullptr;
  Status (*get_count)(unsigned* count) = nullptr;
  Status (*get_handle)(unsigned index, GpuHandle** handle) = nullptr;
  // These a library or a device may lack.
  Status (*get_processes)(GpuHandle* handle, unsigned* count, GpuProcess* processes) = nullptr;
  Status (*get_utilization)(GpuHandle* handle, GpuUtilization* utilization) = nullptr;
  Status (*get_violation)(GpuHandle* handle, int policy, GpuViolation* violation) = nullptr;
  Status (*get_reasons)(GpuHandle* handle, unsigned long long* reasons) = nullptr;
  std::vector<GpuHandle*> handles;

  std::size_t others_on(GpuHandle* handle) const {
    if (!get_processes) return 0;
    std::vector<GpuProcess> processes(64);
    auto count = static_cast<unsigned>(processes.size());
    Status status = get_processes(handle, &count, processes.data());
    if (status == gpu_more_room_needed) {
      processes.resize(count + 16);
      count = static_cast<unsigned>(processes.size());
      status = get_processes(handle, &count, processes.data());
    }
    if (status != gpu_success) return 0;
    processes.resize(std::min<std::size_t>(count, processes.size()));
    const auto own = static_cast<unsigned>(::getpid());
    return static_cast<std::size_t>(std::count_if(processes.begin(), processes.end(),
                                                  [&](const GpuProcess& process) { return process.pid != own; }));
  }

  double violation_seconds(GpuHandle* handle, int policy) const {
    GpuViolation violation{};
    if (!get_violation || get_violation(handle, policy, &violation) != gpu_success) return 0;
    return static_cast<double>(violation.violation_ns) * 1e-9;
  }
};

Gpus Gpus::open() {
  const auto opened = SharedLibrary::open(LibraryPlaces::of_environment("python3"), {"libnvidia-ml.so.1"});
  if (!opened) return {};
  auto library = std::make_shared<Library>();
  const bool is_whole = opened->bind(library->init, "nvmlInit_v2") &&
                        opened->bind(library->get_count, "nvmlDeviceGetCount_v2") &&
                        opened->bind(library->get_handle, "nvmlDeviceGetHandleByIndex_v2");
  opened->bind(library->get_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  opened->bind(library->get_utilization, "nvmlDeviceGetUtilizationRates");
  opened->bind(library->get_violation, "nvmlDeviceGetViolationStatus");
  opened->bind(library->get_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  unsigned count = 0;
  if (!is_whole || library->init() != gpu_success || library->get_count(&count) != gpu_success) return {};
  for (unsigned i = 0; i < count; ++i) {
    Library::GpuHandle* handle = nullptr;
    if (library->get_handle(i, &handle) == gpu_success) library->handles.push_back(handle);
  }
  Gpus gpus;
  if (!library->handles.empty()) gpus.library_ = std::move(library);
  return gpus;
}

GpuState Gpus::now() const {
  GpuState state;
  if (!library_) return state;
  for (Library::GpuHandle* const handle : library_->handles) {
    state.others += library_->others_on(handle);
    Library::GpuUtilization utilization{};
    if (library_->get_utilization && library_->get_utilization(handle, &utilization) == gpu_success)
      state.busy = std::max(state.busy, utilization.gpu);
    state.hot_seconds += library_->violation_seconds(handle, thermal_policy);
    state.weak_seconds += library_->violation_seconds(handle, power_policy);
  }
  return state;
}

GpuBrakes Gpus::brakes() const {
  GpuBrakes brakes;
  if (!library_ || !library_->get_reasons) return brakes;
  for (Library::GpuHandle* const handle : library_->handles) {
    unsigned long long reasons = 0;
    if (library_->get_reasons(handle, &reasons) != gpu_success) continue;
    brakes.heat = brakes.heat || (reasons & (software_heat | hardware_heat)) != 0;
    brakes.power = brakes.power || (reasons & (power_cap | power_brake)) != 0;
  }
  return brakes;
}

void GpuRounds::add(const GpuBrakes& brakes) {
  ++all;
  hot += brakes.heat ? 1 : 0;
  weak += brakes.power ? 1 : 0;
}

std::vector<std::string> gpu_disturbances(const GpuState& before, const GpuState& after, const GpuRounds& rounds) {
  constexpr unsigned much_busy = 5;
  constexpr double least_seconds = 0.01;
  std::vector<std::string> found;
  if (before.others > 0)
    found.push_back(
        fmt::format("{} other {} the GPU", before.others, before.others == 1 ? "process uses" : "processes use"));
  else if (before.busy > much_busy)
    found.push_back(fmt::format("the GPU was busy for {} % of the time before this was measured", before.busy));
  const auto held_back = [&](double seconds, std::size_t of_rounds, const char* why) {
    if (seconds > least_seconds)
      found.push_back(fmt::format("the GPU was held back for {:.2f} s because of {}", seconds, why));
    else if (of_rounds > 0)
      found.push_back(
          fmt::format("the GPU was held back because of {} after {} of {} rounds", why, of_rounds, rounds.all));
  };
  held_back(after.hot_seconds - before.hot_seconds, rounds.hot, "its heat");
  held_back(after.weak_seconds - before.weak_seconds, rounds.weak, "the limit of its power");
  return found;
}

}  // namespace onnxkit::benching
