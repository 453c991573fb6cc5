#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "onnxkit/element_type.h"
#include "onnxkit/result.h"

// Tensors as PyTorch keeps them: a storage, and sizes, strides and an offset in it, in elements.
namespace onnxkit::containers {

struct StridedView {
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
};

struct StridedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> copy;  ///< where `bytes` lie if not in the storage
};

/// How much all copies of one file may take: the file can ask for any number of them.
class CopyBudget {
 public:
  explicit CopyBudget(std::uint64_t file_size);
  /// False, and nothing is taken, when less is left.
  bool take(std::uint64_t bytes);

 private:
  std::uint64_t left_;
};

/// The elements of a view, one behind the other: in place where they lie so, else copied. Error codes: malformed-model (the view reaches beyond its
/// storage), memory-limit (it repeats elements without end). `name` is for messages.
Result<StridedBytes> dense_bytes(std::span<const std::byte> storage, const StridedView& view, ElementType elem,
                                 CopyBudget& budget, std::string_view name);

}  // namespace onnxkit::containers
