#include "libonnxkit/cuda/host_copies.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace onnxkit::cuda {
namespace {

constexpr std::size_t most_kept = 4;
constexpr int most_threads = 8;

}  // namespace

HostCopies::HostCopies(std::shared_ptr<const Device> device, int threads)
    : device_(std::move(device)), pool_(std::min(threads > 0 ? threads : usable_cores(), most_threads)) {}

void HostCopies::copy(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  constexpr std::int64_t grain = std::int64_t{128} << 10;
  pool_.for_range(static_cast<std::int64_t>(from.size()), grain, [&](std::int64_t first, std::int64_t last) {
    std::memcpy(to + first, from.data() + first, static_cast<std::size_t>(last - first));
  });
}

Result<void> HostCopies::copy_in_parts(std::byte* to, std::span<const std::byte> from,
                                       const std::function<Result<void>(std::size_t, std::size_t)>& done) {
  constexpr std::size_t part = std::size_t{4} << 20;
  const ThreadPool::Busy busy(pool_);
  for (std::size_t begin = 0; begin < from.size(); begin += part) {
    const std::size_t bytes = std::min(part, from.size() - begin);
    copy(to + begin, from.subspan(begin, bytes));
    if (auto told = done(begin, bytes); !told) return told;
  }
  return {};
}

Result<std::shared_ptr<std::byte>> HostCopies::block(std::uint64_t bytes) {
  for (const Block& block : blocks_) {
    if (block.bytes != bytes || block.memory.use_count() != 1) continue;
    // What the last holder read happens before what is written next.
    std::atomic_thread_fence(std::memory_order_acquire);
    return block.memory;
  }
  auto pinned = allocate_pinned(device_, bytes);
  if (!pinned) return pinned.error();
  auto owner = std::make_shared<PinnedMemory>(*std::move(pinned));
  std::shared_ptr<std::byte> memory(owner, static_cast<std::byte*>(owner->get()));
  std::erase_if(blocks_, [&](const Block& block) { return block.bytes != bytes && block.memory.use_count() == 1; });
  if (blocks_.size() < most_kept) blocks_.push_back({memory, bytes});
  return memory;
}

}  // namespace onnxkit::cuda
