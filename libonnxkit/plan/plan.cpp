#include "libonnxkit/plan/plan.h"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace onnxkit::plan {
namespace {

/// The nodes that a step computes. A node without a name goes by what it writes, which may be an output that the step writes, too.
std::vector<std::string> nodes_of(const Step& step) {
  constexpr std::string_view output = "output ";
  const auto is_known = [&](std::string_view name) {
    return std::find(step.nodes.begin(), step.nodes.end(), name) != step.nodes.end();
  };
  std::vector<std::string> names;
  for (const std::string& node : step.nodes) {
    const std::string_view name = node;
    if (!name.starts_with(output) || !is_known(name.substr(output.size()))) names.push_back(node);
  }
  return names;
}

}  // namespace

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

Error in_step(Error error, const Step& step) {
  if (!step.nodes.empty())
    error.diagnostic.notes.push_back(
        fmt::format("in the step {} of {}", step.kind.name, fmt::join(nodes_of(step), ", ")));
  return error;
}

}  // namespace onnxkit::plan
