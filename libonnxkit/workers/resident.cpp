#include "libonnxkit/workers/resident.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace onnxkit::workers {
namespace {

std::string proc_text(pid_t process, const char* name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// 0 when the process is gone.
pid_t group_of(pid_t process) {
  const std::string stat = proc_text(process, "stat");
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return 0;
  char state = 0;
  int parent = 0, group = 0;
  return std::sscanf(stat.c_str() + name_end + 1, " %c %d %d", &state, &parent, &group) == 3 ? group : 0;
}

}  // namespace

std::uint64_t resident_bytes(pid_t process) {
  unsigned long long total = 0, resident = 0;
  if (std::sscanf(proc_text(process, "statm").c_str(), "%llu %llu", &total, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t resident_bytes_of_group(pid_t group) {
  std::uint64_t sum = 0;
  std::error_code status;
  std::filesystem::directory_iterator at("/proc", status);
  for (; !status && at != std::filesystem::directory_iterator(); at.increment(status)) {
    const std::string name = at->path().filename().string();
    pid_t process = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), process);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (group_of(process) == group) sum += resident_bytes(process);
  }
  return sum;
}

}  // namespace onnxkit::workers
