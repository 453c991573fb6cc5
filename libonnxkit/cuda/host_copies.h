#pragma once

#include <memory>
#include <span>
#include <vector>

#include "libonnxkit/base/system/thread_pool.h"
#include "onnxkit/value.h"

namespace onnxkit::cuda {

/// Copies between values of the caller and pinned memory, by several threads where they are large. Memory of large outputs that callers no longer
/// hold is used again, since the pages of new memory take longer than the copy. One thread at a time calls it.
class HostCopies {
 public:
  /// 0: as many as the process may use, but no more than saturate memory.
  explicit HostCopies(int threads);

  void copy(std::byte* to, std::span<const std::byte> from);
  /// With a copy of packed numbers. Errors: as Tensor::view.
  Result<Tensor> tensor(ElementType type, const std::vector<std::int64_t>& dims, std::span<const std::byte> from);

 private:
  struct Block {
    std::shared_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  std::shared_ptr<std::byte[]> memory_for(std::size_t bytes);

  ThreadPool pool_;
  std::vector<Block> blocks_;
};

}  // namespace onnxkit::cuda
