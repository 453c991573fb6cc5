#include "reference/executor/page_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace onnxkit::reference {
namespace {

constexpr std::size_t page = std::size_t{1} << 12, huge_page = std::size_t{1} << 21;

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

void unmap(std::uintptr_t start, std::size_t size) {
  if (size > 0) munmap(reinterpret_cast<void*>(start), size);
}

}  // namespace

void* PagePool::fresh(std::size_t bytes) {
  const std::size_t size = round_up(bytes, page);
  // First touches of small pages would cost as much as the work on them.
  const std::size_t before = size < huge_page ? 0 : huge_page - page;
  void* const mapped = mmap(nullptr, before + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (before == 0) return mapped;
  const auto first = reinterpret_cast<std::uintptr_t>(mapped), start = round_up(first, huge_page);
  unmap(first, start - first);
  unmap(start + size, first + before - start);
  void* const pages = reinterpret_cast<void*>(start);
  madvise(pages, size, MADV_HUGEPAGE);
  return pages;
}

void* PagePool::reuse(std::size_t bytes) {
  const std::size_t size = round_up(bytes, page);
  const std::lock_guard lock(mutex_);
  const auto best = by_size_.lower_bound({size, 0});
  if (best == by_size_.end()) return nullptr;
  const auto [whole, start] = *best;
  erase(extents_.find(start));
  if (whole > size) insert(start + size, whole - size);
  return reinterpret_cast<void*>(start);
}

void PagePool::give(void* pages, std::size_t bytes) noexcept {
  auto start = reinterpret_cast<Start>(pages);
  std::size_t size = round_up(bytes, page);
  const std::lock_guard lock(mutex_);
  const auto behind = extents_.lower_bound(start);
  if (behind != extents_.begin()) {
    const auto before = std::prev(behind);
    if (before->first + before->second == start) {
      start = before->first;
      size += before->second;
      erase(before);
    }
  }
  if (behind != extents_.end() && start + size == behind->first) {
    size += behind->second;
    erase(behind);
  }
  try {
    insert(start, size);
  } catch (const std::bad_alloc&) {
    unmap(start, size);
  }
}

void PagePool::shrink(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  while (idle_ > bytes) {
    const auto [size, start] = *by_size_.rbegin();
    const std::size_t released = std::min(size, round_up(idle_ - bytes, page));
    erase(extents_.find(start));
    if (size > released) insert(start, size - released);
    unmap(start + size - released, released);
  }
}

void PagePool::insert(Start start, std::size_t size) {
  const auto location = extents_.emplace(start, size).first;
  try {
    by_size_.emplace(size, start);
  } catch (...) {
    extents_.erase(location);
    throw;
  }
  idle_ += size;
}

void PagePool::erase(Extents::iterator extent) {
  by_size_.erase({extent->second, extent->first});
  idle_ -= extent->second;
  extents_.erase(extent);
}

}  // namespace onnxkit::reference
