#include "libonnxkit/base/system/cgroup.h"

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

/// The least of a group's quota and those of the groups above it. Inside a container the path may not exist below the mount; the mount
/// itself is then the container's group.
double least_quota(const fs::path& mount, fs::path group) {
  double least = quota_of(mount);
  for (; group.has_relative_path(); group = group.parent_path()) {
    least = std::min(least, quota_of(mount / group.relative_path()));
  }
  return least;
}

bool names_cpu(const std::string& controllers) { return ("," + controllers + ",").find(",cpu,") != std::string::npos; }

}  // namespace

int cgroup_cores(const fs::path& root) {
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
      least = std::min({least, least_quota(mounts, group), least_quota(mounts / "unified", group)});
    if (names_cpu(controllers))
      least = std::min({least, least_quota(mounts / controllers, group), least_quota(mounts / "cpu", group)});
  }
  if (least == no_limit) return 0;
  return static_cast<int>(std::clamp(std::ceil(least), 1.0, 1e6));
}

}  // namespace onnxkit
