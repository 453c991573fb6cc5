#include "libonnxkit/wire/zip/memory_file.h"

#include <algorithm>

#include "libonnxkit/base/checked.h"

namespace onnxkit::wire {
namespace {

MemoryFile& memory_file(void* stream) { return *static_cast<MemoryFile*>(stream); }

std::uint64_t size_of(const MemoryFile& file) { return file.written ? file.written->size() : file.bytes.size(); }

uLong read_memory(void*, void* stream, void* buffer, uLong size) {
  MemoryFile& file = memory_file(stream);
  const std::string_view all = file.written ? std::string_view(*file.written) : file.bytes;
  const std::string_view part = file.at < all.size() ? all.substr(file.at, size) : std::string_view();
  std::copy(part.begin(), part.end(), static_cast<char*>(buffer));
  file.at += part.size();
  return static_cast<uLong>(part.size());
}

uLong write_memory(void*, void* stream, const void* buffer, uLong size) {
  MemoryFile& file = memory_file(stream);
  if (file.at + size > file.written->size()) file.written->resize(file.at + size);
  file.written->replace(file.at, size, static_cast<const char*>(buffer), size);
  file.at += size;
  return size;
}

long seek_memory(void*, void* stream, ZPOS64_T offset, int origin) {
  MemoryFile& file = memory_file(stream);
  const std::uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? file.at
                             : origin == ZLIB_FILEFUNC_SEEK_END ? size_of(file)
                                                                : 0;
  const auto target = checked_add<std::uint64_t>(base, offset);
  if (!target || *target > size_of(file)) return -1;
  file.at = *target;
  return 0;
}

}  // namespace

zlib_filefunc64_def callbacks(MemoryFile& file) {
  zlib_filefunc64_def calls{};
  calls.opaque = &file;
  calls.zopen64_file = [](void* opaque, const void*, int) { return opaque; };
  calls.zread_file = read_memory;
  calls.zwrite_file = write_memory;
  calls.ztell64_file = [](void*, void* stream) -> ZPOS64_T { return memory_file(stream).at; };
  calls.zseek64_file = seek_memory;
  calls.zclose_file = [](void*, void*) { return 0; };
  calls.zerror_file = [](void*, void*) { return 0; };
  return calls;
}

}  // namespace onnxkit::wire
