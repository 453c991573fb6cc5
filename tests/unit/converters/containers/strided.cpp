#include "converters/containers/strided.h"

#include <doctest/doctest.h>

#include <limits>

namespace onnxkit::tests::containers_strided {

using containers::CopyBudget;
using containers::dense_bytes;
using containers::StridedView;

std::string storage_of(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i);
  return bytes;
}

/// The elements of a view of a storage 0, 1, 2 ..., or the code of the error.
std::string elements_of(const StridedView& view, std::size_t storage_size = 12) {
  const auto storage = MappedFile::from_bytes(storage_of(storage_size));
  CopyBudget budget(storage_size);
  const auto dense = dense_bytes(storage->bytes(), view, ElementType::uint8, budget, "w");
  if (!dense) return dense.error().diagnostic.code;
  std::string text;
  for (const std::byte element : dense->bytes)
    text += (text.empty() ? "" : " ") + std::to_string(static_cast<int>(element));
  return text;
}

TEST_CASE("strided: dense views lie in the storage, others are copied") {
  CHECK(elements_of({{2, 3}, {3, 1}, 4}) == "4 5 6 7 8 9");
  CHECK(elements_of({{3, 2}, {1, 3}, 0}) == "0 3 1 4 2 5");
  CHECK(elements_of({{2, 2}, {0, 1}, 1}) == "1 2 1 2");
  CHECK(elements_of({{}, {}, 11}) == "11");
  CHECK(elements_of({{0, 3}, {1, 1}, 12}).empty());
  const auto storage = MappedFile::from_bytes(storage_of(4));
  CopyBudget budget(4);
  CHECK(dense_bytes(storage->bytes(), {{2}, {1}, 2}, ElementType::uint8, budget, "w")->copy == nullptr);
}

TEST_CASE("strided: what reaches beyond the storage, overflows or is negative is refused") {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const StridedView& view :
       {StridedView{{2, 3}, {3, 1}, 7}, StridedView{{2}, {huge}, 0}, StridedView{{huge, huge}, {1, 1}, 0},
        StridedView{{2}, {-1}, 1}, StridedView{{-1}, {1}, 0}, StridedView{{1}, {1}, -1}, StridedView{{1}, {}, 0},
        StridedView{{0}, {1}, huge}, StridedView{{1}, {1}, huge}})
    CHECK(elements_of(view) == "malformed-model");
}

TEST_CASE("strided: copies of all tensors together are bounded") {
  CHECK(elements_of({{1 << 20, 1 << 20}, {0, 0}, 0}) == "memory-limit");
  CopyBudget budget(0);
  const auto storage = MappedFile::from_bytes(storage_of(16));
  int copies = 0;
  while (dense_bytes(storage->bytes(), {{1 << 21, 2}, {0, 1}, 0}, ElementType::float64, budget, "w") && copies < 100)
    ++copies;
  CHECK(copies == 8);
}

}  // namespace onnxkit::tests::containers_strided
