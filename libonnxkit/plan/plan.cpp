#include "libonnxkit/plan/plan.h"

#include <fmt/core.h>

namespace onnxkit::plan {
std::uint64_t memory_bytes(const Plan& plan) {
  std::uint64_t bytes = plan.arena_bytes;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.home == Home::output) bytes += buffer.bytes;
  return bytes;
}

Result<void> check_memory(const Plan& plan, std::uint64_t limit, std::uint64_t more) {
  const std::uint64_t bytes = memory_bytes(plan) + more;
  if (limit == 0 || bytes <= limit) return {};
  return make_error("memory-limit", fmt::format("the plan needs {} bytes, the limit is {}", bytes, limit));
}

}  // namespace onnxkit::plan
