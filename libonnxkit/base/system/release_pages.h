#pragma once

#include <cstddef>
#include <span>

#include "libonnxkit/base/system/mapped_file.h"

namespace onnxkit {

/// Lets the system take back the memory of a part of a mapped file, whose bytes are read from the file again when they are asked for.
/// Nothing happens for bytes that lie elsewhere or in memory alone.
void release_pages(const MappedFile& file, std::span<const std::byte> part);

}  // namespace onnxkit
