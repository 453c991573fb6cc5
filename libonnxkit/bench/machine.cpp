#include "libonnxkit/bench/machine.h"

#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace onnxkit::benching {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

/// The text behind `key` and a colon in a file of such lines.
std::string field_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != line.npos) return line.substr(begin);
  }
  return {};
}

std::string times_text(std::uint64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

/// Bytes of a field of /proc/self/status.
std::uint64_t own_memory(std::string_view key) {
  return std::strtoull(field_of("/proc/self/status", key).c_str(), nullptr, 10) * 1024;
}

/// Of the control group that this process lies in, by the second version of control groups.
double held_back_seconds() {
  std::ifstream groups("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("0::")) group = line.substr(3);
  for (const std::string& folder : {"/sys/fs/cgroup" + group, std::string("/sys/fs/cgroup")}) {
    std::ifstream stat(folder + "/cpu.stat");
    std::string key;
    for (double value = 0; stat >> key >> value;)
      if (key == "throttled_usec") return value * 1e-6;
  }
  return 0;
}

template <class Visit>
void each_processor(Visit visit) {
  std::error_code fault;
  for (int cpu = 0; cpu < 4096; ++cpu) {
    const fs::path folder = fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
    if (!fs::is_directory(folder, fault)) return;
    visit(folder);
  }
}

}  // namespace

MachineState MachineState::now() {
  MachineState state;
  state.wall = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  std::ifstream stat("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, steal = 0;
  if (stat >> cpu >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> steal) {
    const auto ticks = static_cast<double>(std::max<long>(sysconf(_SC_CLK_TCK), 1));
    state.busy = (user + nice + system + interrupts + soft) / ticks;
    state.stolen = steal / ticks;
  }
  state.held_back = held_back_seconds();
  each_processor([&](const fs::path& folder) {
    state.throttles += number_in(folder / "thermal_throttle/core_throttle_count").value_or(0);
    if (const auto khz = number_in(folder / "cpufreq/scaling_cur_freq"))
      state.megahertz.push_back(static_cast<double>(*khz) / 1000);
  });
  return state;
}

void MachineState::leave_out(const MachineState& from, const MachineState& to) {
  busy += to.busy - from.busy;
  stolen += to.stolen - from.stolen;
  held_back += to.held_back - from.held_back;
  throttles += to.throttles - from.throttles;
  wall += to.wall - from.wall;
}

BenchMachine machine_here() {
  BenchMachine desc;
  desc.processor = field_of("/proc/cpuinfo", "model name");
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) desc.processors = CPU_COUNT(&set);
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && size > 0) desc.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
  return desc;
}

void give_back_freed() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

OwnGrowth::OwnGrowth() {
  before_ = own_memory("VmRSS");
  std::ofstream file("/proc/self/clear_refs");
  forgot_ = static_cast<bool>(file << "5" << std::flush);
}

std::optional<std::uint64_t> OwnGrowth::peak() const {
  const std::uint64_t peak = own_memory("VmHWM");
  if (!forgot_ || before_ == 0 || peak == 0) return std::nullopt;
  return peak - std::min(peak, before_);
}

std::uint64_t OwnGrowth::kept() const {
  const std::uint64_t now = own_memory("VmRSS");
  return now - std::min(now, before_);
}

Disturbances disturbances(const MachineState& before, const MachineState& after, double own_cpu) {
  constexpr double much_load = 0.1, much_stolen = 0.01, much_frequency = 0.1;
  Disturbances found;
  const double wall = after.wall - before.wall;
  if (wall <= 0) return found;
  if (const double others = (after.busy - before.busy - own_cpu) / wall; others > much_load)
    found.texts.push_back(fmt::format("other programs used {:.2f} processors while this was measured", others));
  if (const double stolen = (after.stolen - before.stolen) / wall; stolen > much_stolen)
    found.texts.push_back(fmt::format("the host took {:.2f} processors away from this virtual machine", stolen));
  if (const double held = after.held_back - before.held_back; held > much_stolen * wall)
    found.texts.push_back(fmt::format("the quota of the control group held its processes back for {:.2f} s", held));
  found.lost_processors = !found.texts.empty();
  if (after.throttles > before.throttles)
    found.texts.push_back(fmt::format("the processor slowed down {} because of its heat",
                                      times_text(after.throttles - before.throttles)));
  if (!before.megahertz.empty() && before.megahertz.size() == after.megahertz.size()) {
    const double fastest_before = *std::max_element(before.megahertz.begin(), before.megahertz.end());
    const double fastest_after = *std::max_element(after.megahertz.begin(), after.megahertz.end());
    if (std::abs(fastest_after - fastest_before) > much_frequency * std::max(fastest_before, fastest_after))
      found.texts.push_back(
          fmt::format("the processor's frequency changed from {:.0f} to {:.0f} MHz", fastest_before, fastest_after));
  }
  return found;
}

}  // namespace onnxkit::benching
