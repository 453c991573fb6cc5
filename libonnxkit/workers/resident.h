#pragma once

#include <sys/types.h>

#include <cstdint>

namespace onnxkit::workers {

/// Resident bytes of a process; 0 when it is gone.
std::uint64_t resident_bytes(pid_t process);

/// Sum over the processes of a group. Looks at every process of the machine.
std::uint64_t resident_bytes_of_group(pid_t group);

}  // namespace onnxkit::workers
