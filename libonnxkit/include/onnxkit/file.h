#pragma once

#include <filesystem>
#include <string_view>

#include "onnxkit/export.h"
#include "onnxkit/result.h"

namespace onnxkit {

/// Makes `bytes` the content of `path` in one step: written beside it and renamed, so that a reader sees the old file or the new one;
/// where it replaces a file, the new content is on disk before the old one goes.
/// Error: cannot-write.
ONNXKIT_API Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace onnxkit
