#include "libonnxkit/base/system/cgroup.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace onnxkit {
namespace fs = std::filesystem;
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

/// Cores that one group allows. Version 2 keeps "quota period" in cpu.max, version 1 each in a file; "max" or -1 is no limit.
double quota_of(const fs::path& group) {
  double quota = 0, period = 0;
  std::ifstream both(group / "cpu.max");
  if (!(both >> quota >> period)) {
    std::ifstream(group / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : no_limit;
}

/// Bytes that one group allows; version 1 writes a huge number for no limit.
double memory_of(const fs::path& group) {
  double bytes = 0;
  if (!(std::ifstream(group / "memory.max") >> bytes)) std::ifstream(group / "memory.limit_in_bytes") >> bytes;
  return bytes > 0 ? bytes : no_limit;
}

using Limit = double (*)(const fs::path& group);

/// The least limit of a group and of the groups above it. Inside a container the path may not exist below the mount; the mount
/// itself is then the container's group.
double least_limit(const fs::path& mount, fs::path group, Limit limit) {
  double least = limit(mount);
  for (; group.has_relative_path(); group = group.parent_path())
    least = std::min(least, limit(mount / group.relative_path()));
  return least;
}

/// Over the groups of this process that `controller` belongs to.
double least_of_groups(const fs::path& root, const std::string& controller, Limit limit) {
  const fs::path mounts = root / "sys/fs/cgroup";
  double least = no_limit;
  std::ifstream groups(root / "proc/self/cgroup");
  // Lines are "number:controllers:path"; version 2 names no controllers.
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty())
      least = std::min({least, least_limit(mounts, group, limit), least_limit(mounts / "unified", group, limit)});
    if (("," + controllers + ",").find("," + controller + ",") != std::string::npos)
      least = std::min(
          {least, least_limit(mounts / controllers, group, limit), least_limit(mounts / controller, group, limit)});
  }
  return least;
}

}  // namespace

int cgroup_cores(const fs::path& root) {
  const double least = least_of_groups(root, "cpu", quota_of);
  if (least == no_limit) return 0;
  return static_cast<int>(std::clamp(std::ceil(least), 1.0, 1e6));
}

std::uint64_t usable_memory(const fs::path& root) {
  const double installed =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return static_cast<std::uint64_t>(std::min(installed, least_of_groups(root, "memory", memory_of)));
}

}  // namespace onnxkit
