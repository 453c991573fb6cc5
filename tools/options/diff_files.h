#pragma once

#include <filesystem>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit::tools {

/// Whether the folder of `path` is there. Error cannot-write.
Result<void> check_new_file(const std::filesystem::path& path);

/// Whether `path` may become a report: a new file in a folder that is there, an empty one, a page, or no regular file at all. Errors: cannot-write,
/// unsupported-format for a name that is none of a page.
Result<void> check_report(const std::filesystem::path& path);
/// The same of a trace of bench.
Result<void> check_trace(const std::filesystem::path& path);
/// Whether --resume may keep measurements in `path`: what is there is read and says what it is, a new file has a name of one. Errors: cannot-write,
/// unsupported-format.
Result<void> check_kept(const std::filesystem::path& path);

/// Whether files may be written into a folder: it is new, empty, or what --repro made before, one folder or one for each side, and none
/// of the inputs lies in it. Error cannot-write.
Result<void> check_repro(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& inputs);

}  // namespace onnxkit::tools
