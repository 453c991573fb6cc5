#pragma once

#include <filesystem>
#include <string>

namespace onnxkit {

/// The extension of a file's name in lower case ASCII: ".onnx" of MODEL.ONNX. Formats go by it.
inline std::string lower_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

}  // namespace onnxkit
