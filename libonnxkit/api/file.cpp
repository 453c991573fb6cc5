#include "onnxkit/file.h"

#include "libonnxkit/base/system/atomic_file.h"

namespace onnxkit {

Result<void> write_file(const std::filesystem::path& path, std::string_view bytes) { return replace_file(path, bytes); }

}  // namespace onnxkit
