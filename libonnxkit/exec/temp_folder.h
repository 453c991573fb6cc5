#pragma once

#include <filesystem>
#include <utility>

#include "onnxkit/result.h"

namespace onnxkit::exec {

/// A folder of our own below the system's folder for temporary files, removed with all it holds.
class TempFolder {
 public:
  static Result<TempFolder> make();
  TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempFolder& operator=(TempFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TempFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TempFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace onnxkit::exec
