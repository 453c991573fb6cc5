#pragma once

#include <filesystem>
#include <string_view>

#include "onnxkit/export.h"
#include "onnxkit/result.h"

namespace onnxkit {

/// Makes `bytes` the content of `path` in one step: written beside it, synced and renamed, so that a reader sees the old file or the new one.
/// Error: cannot-write.
ONNXKIT_API Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace onnxkit
