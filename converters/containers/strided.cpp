#include "converters/containers/strided.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::containers {
namespace {

bool is_contiguous(const StridedView& view) {
  std::int64_t expected = 1;
  for (std::size_t axis = view.sizes.size(); axis-- > 0;) {
    if (view.sizes[axis] != 1 && view.strides[axis] != expected) return false;
    expected *= std::max<std::int64_t>(view.sizes[axis], 1);
  }
  return true;
}

/// One behind the last element of the storage that is read; nullopt for negative numbers and overflow.
std::optional<std::int64_t> end_of(const StridedView& view) {
  std::int64_t last = view.offset;
  if (view.offset < 0 || view.sizes.size() != view.strides.size()) return std::nullopt;
  bool is_empty = false;
  for (std::size_t axis = 0; axis < view.sizes.size(); ++axis) {
    if (view.sizes[axis] < 0 || view.strides[axis] < 0) return std::nullopt;
    is_empty = is_empty || view.sizes[axis] == 0;
    if (is_empty) continue;
    const auto reach = checked_mul(view.sizes[axis] - 1, view.strides[axis]);
    const auto sum = reach ? checked_add(last, *reach) : std::nullopt;
    if (!sum) return std::nullopt;
    last = *sum;
  }
  return is_empty ? view.offset : checked_add<std::int64_t>(last, 1);
}

std::string gathered(std::span<const std::byte> storage, const StridedView& view, std::size_t width,
                     std::int64_t count) {
  std::string packed(static_cast<std::size_t>(count) * width, '\0');
  std::vector<std::int64_t> at(view.sizes.size(), 0);
  std::int64_t from = view.offset;
  for (std::int64_t n = 0; n < count; ++n) {
    std::memcpy(packed.data() + static_cast<std::size_t>(n) * width,
                storage.data() + static_cast<std::size_t>(from) * width, width);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      from += view.strides[axis];
      if (++at[axis] < view.sizes[axis]) break;
      from -= view.strides[axis] * view.sizes[axis];
      at[axis] = 0;
    }
  }
  return packed;
}

}  // namespace

// Strides of 0 repeat elements without end, and any number of tensors may share a storage.
CopyBudget::CopyBudget(std::uint64_t file_size) {
  constexpr std::uint64_t always_allowed = std::uint64_t{1} << 28, most_repetition = 8;
  left_ = always_allowed + most_repetition * file_size;
}

bool CopyBudget::take(std::uint64_t bytes) {
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

Result<StridedBytes> dense_bytes(std::span<const std::byte> storage, const StridedView& view, ElementType elem,
                                 CopyBudget& budget, std::string_view name) {
  const auto malformed = [&](std::string_view what) {
    return make_error("malformed-model", fmt::format("weight {}: {}", quote(name), what));
  };
  const auto width = packed_size(elem, 1);
  if (!width || *width == 0) return malformed("ONNX does not have its element type");
  const auto end = end_of(view);
  const auto count = checked_element_count(view.sizes);
  const auto size = count ? packed_size(elem, *count) : std::nullopt;
  const auto reach = end ? checked_mul(*end, static_cast<std::int64_t>(*width)) : std::nullopt;
  if (!size || !reach || static_cast<std::uint64_t>(*reach) > storage.size())
    return malformed("it reaches beyond its storage");
  if (*count == 0) return StridedBytes{storage.subspan(0, 0), nullptr};
  const std::size_t offset = static_cast<std::size_t>(view.offset) * *width;
  if (is_contiguous(view))
    return StridedBytes{storage.subspan(offset, static_cast<std::size_t>(*count) * *width), nullptr};
  if (!budget.take(*size))
    return make_error("memory-limit", fmt::format("weight {} repeats its storage too often", quote(name)));
  auto copy = MappedFile::from_bytes(gathered(storage, view, *width, *count));
  const auto bytes = copy->bytes();
  return StridedBytes{bytes, std::move(copy)};
}

}  // namespace onnxkit::containers
