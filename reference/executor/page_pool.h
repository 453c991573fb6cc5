#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace onnxkit::reference {

/// Pages that were used and are free, for what is needed next: the kernel clears new pages, which costs about as much as the work on them.
class PagePool {
 public:
  PagePool() = default;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;
  ~PagePool() { shrink(0); }

  /// Pages for `bytes`, which hold anything; null when there are not so many side by side.
  void* reuse(std::size_t bytes);
  /// Zeroed pages for `bytes` from the system; null when it has none.
  static void* fresh(std::size_t bytes);
  /// Takes back pages for `bytes`, wherever they came from.
  void give(void* pages, std::size_t bytes) noexcept;
  /// Returns pages to the system until at most `bytes` are idle.
  void shrink(std::size_t bytes);
  std::size_t idle() const { return idle_; }

 private:
  using Start = std::uintptr_t;
  using Extents = std::map<Start, std::size_t>;

  void insert(Start start, std::size_t size);
  void erase(Extents::iterator extent);

  std::mutex mutex_;  ///< of what follows; idle_ may be read without
  Extents extents_;   ///< that do not touch
  std::set<std::pair<std::size_t, Start>> by_size_;
  std::atomic<std::size_t> idle_ = 0;
};

}  // namespace onnxkit::reference
