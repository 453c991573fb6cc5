#include "libonnxkit/base/system/forget_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace onnxkit {

void forget_pages(const MappedFile& file, std::string_view range) {
  const bool is_mapped = file.identity() != MappedFile::Identity{};
  const auto begin = reinterpret_cast<std::uintptr_t>(file.bytes().data());
  const std::uintptr_t end = begin + file.bytes().size();
  const auto first = reinterpret_cast<std::uintptr_t>(range.data());
  if (!is_mapped || first < begin || first >= end) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t start = first / page * page;
  ::madvise(reinterpret_cast<void*>(start), std::min(first + range.size(), end) - start, MADV_DONTNEED);
}

}  // namespace onnxkit
