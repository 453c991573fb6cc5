#include "libonnxkit/cuda/host_copies.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace onnxkit::cuda {
namespace {

constexpr std::size_t large = std::size_t{1} << 20;
constexpr std::size_t most_blocks = 4;
constexpr int most_threads = 8;

}  // namespace

HostCopies::HostCopies(int threads) : pool_(std::min(threads > 0 ? threads : usable_cores(), most_threads)) {}

void HostCopies::copy(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  if (from.size() < large) {
    std::memcpy(to, from.data(), from.size());
    return;
  }
  constexpr std::int64_t grain = std::int64_t{256} << 10;
  pool_.for_range(static_cast<std::int64_t>(from.size()), grain, [&](std::int64_t first, std::int64_t last) {
    std::memcpy(to + first, from.data() + first, static_cast<std::size_t>(last - first));
  });
}

std::shared_ptr<std::byte[]> HostCopies::memory_for(std::size_t bytes) {
  for (const Block& block : blocks_) {
    if (block.bytes != bytes || block.memory.use_count() != 1) continue;
    // What the last holder read happens before what is written next.
    std::atomic_thread_fence(std::memory_order_acquire);
    return block.memory;
  }
  auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
  if (bytes < large) return memory;
  std::erase_if(blocks_, [&](const Block& block) { return block.bytes != bytes && block.memory.use_count() == 1; });
  if (blocks_.size() < most_blocks) blocks_.push_back({memory, bytes});
  return memory;
}

Result<Tensor> HostCopies::tensor(ElementType type, const std::vector<std::int64_t>& dims,
                                  std::span<const std::byte> from) {
  const std::shared_ptr<std::byte[]> memory = memory_for(from.size());
  copy(memory.get(), from);
  return Tensor::view(type, dims, {memory.get(), from.size()}, memory);
}

}  // namespace onnxkit::cuda
