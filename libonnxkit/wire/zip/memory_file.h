#pragma once

#include <minizip/ioapi.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace onnxkit::wire {

/// A file in memory for minizip: `bytes` to read from, or `written` to write to.
struct MemoryFile {
  std::string_view bytes;
  std::string* written = nullptr;
  std::uint64_t at = 0;
};

/// minizip's way to `file`, which must outlive what minizip opens with it.
zlib_filefunc64_def callbacks(MemoryFile& file);

}  // namespace onnxkit::wire
