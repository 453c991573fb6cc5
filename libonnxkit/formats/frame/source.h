#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "libonnxkit/base/system/mapped_file.h"

namespace onnxkit::formats {

/// What a model is read from: a file, a folder, or bytes that came without a file.
struct Source {
  std::filesystem::path path;              ///< for bytes without a file the name that errors use
  std::shared_ptr<const MappedFile> file;  ///< null for a folder

  bool is_folder() const { return file == nullptr; }
  /// All bytes of the file; none of a folder.
  std::string_view bytes() const { return file ? file->view() : std::string_view(); }
  /// Whether the bytes at `offset` are these.
  bool has(std::string_view magic, std::size_t offset = 0) const {
    return bytes().size() >= offset && bytes().substr(offset).starts_with(magic);
  }
};

}  // namespace onnxkit::formats
