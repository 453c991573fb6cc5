#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace onnxkit {

/// Memory that a run writes and its caller then holds. It is used again when nobody holds it: new memory takes longer than writing to it. A caller that
/// holds one result during the next run has two in turn. One thread at a time.
class LentMemory {
 public:
  /// Memory that nobody else holds; `make` gives a new std::shared_ptr<std::byte>, null where there is none.
  template <class Make>
  std::shared_ptr<std::byte> lend(Make make) {
    for (const std::shared_ptr<std::byte>& kept : kept_) {
      if (!kept || kept.use_count() != 1) continue;
      // What the last holder read happens before what is written next.
      std::atomic_thread_fence(std::memory_order_acquire);
      return kept;
    }
    std::swap(kept_[0], kept_[1]);
    return kept_[0] = make();
  }

 private:
  std::array<std::shared_ptr<std::byte>, 2> kept_;  ///< the newest first
};

}  // namespace onnxkit
