#pragma once

#include <filesystem>
#include <string>

#include "onnxkit/result.h"

namespace onnxkit::tools {

/// Held while a file of --resume is read and written again: of two commands that did that at once one would lose what the other measured. A file
/// beside it, FILE.lock, carries the lock and goes with it; what a command that was killed left of that locks nothing.
class ResumeLock {
 public:
  /// Without a lock where the file system has none, and for what is no regular file. Error cannot-write where another command holds it.
  static Result<ResumeLock> take(const std::string& path);
  ResumeLock() = default;
  ResumeLock(ResumeLock&& other) noexcept;
  ResumeLock& operator=(ResumeLock&& other) noexcept;
  ~ResumeLock();

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace onnxkit::tools
