#pragma once

#include <cstdint>
#include <filesystem>

namespace onnxkit {

/// Whole cores that the CPU quotas of this process' control groups (version 1 or 2) and of those above allow, at least 1; 0 where no quota
/// is set. `root` is the file system's root.
int cgroup_cores(const std::filesystem::path& root = "/");

/// Bytes that this machine has and that the same groups allow.
std::uint64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace onnxkit
