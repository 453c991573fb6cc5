#include "libonnxkit/base/system/release_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <functional>

namespace onnxkit {

void release_pages(const MappedFile& file, std::span<const std::byte> part) {
  const std::span<const std::byte> whole = file.bytes();
  const std::byte *begin = part.data(), *end = begin + part.size();
  const bool is_inside =
      std::less_equal<>()(whole.data(), begin) && std::less_equal<>()(end, whole.data() + whole.size());
  if (part.empty() || !is_inside || file.identity() == MappedFile::Identity{}) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(end) / page * page;
  // The mapping is never written to, so its pages are those of the file.
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace onnxkit
