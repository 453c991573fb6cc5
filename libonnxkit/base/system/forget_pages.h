#pragma once

#include <string_view>

#include "libonnxkit/base/system/mapped_file.h"

namespace onnxkit {

/// Gives the memory that `range` of a mapped file takes back to the system; it is mapped in again when touched. Nothing happens when
/// the range is not of this file, or the file's bytes are in memory.
void forget_pages(const MappedFile& file, std::string_view range);

}  // namespace onnxkit
