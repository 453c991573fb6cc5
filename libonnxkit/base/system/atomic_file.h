#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "onnxkit/result.h"

namespace onnxkit {

/// Where a write to `path` ends up: symbolic links are followed, a link to nothing leads to where its file would be.
std::filesystem::path follow_links(std::filesystem::path path);

/// An output that appears at its location complete or not at all: written without a name, so that nothing is left of it however the process
/// ends, or where the file system needs one under a hidden name; then given a hidden name beside its location and renamed. What replaces a file
/// is on disk before the old content goes; a new file is left to the system's own writing, since nothing is lost with it. The permissions
/// of a file that it replaces are kept; a symbolic link is followed, as a plain write would. A target that is no regular file (a device,
/// a pipe) is written directly. Failures have the code cannot-write. Unless published, nothing remains.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  /// Replaces a symbolic link instead of what it leads to.
  static Result<AtomicFile> create_here(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Result<void> write(std::string_view bytes);
  /// All bytes are on disk.
  Result<void> sync();
  /// The bytes lie under the hidden name, if they did not before.
  Result<void> appear();
  /// Gives the file its name, synced if that was another file's.
  Result<void> publish();
  /// Like publish, but the hidden name stays, too: both name the same bytes. Fails where the file system has no hard links.
  Result<void> publish_twin();

  /// The hidden name stays for good, published or not. After appear().
  void leave_hidden() { hidden_.clear(); }

  /// Under which name the bytes lie from appear() until they are published; empty for a target that is written directly.
  const std::filesystem::path& hidden_path() const { return hidden_; }

 private:
  AtomicFile() = default;
  static Result<AtomicFile> open(AtomicFile file, bool replaces_link);
  Error failure(const char* what) const;
  Result<void> sync_folder() const;

  std::filesystem::path path_;    ///< as the caller named it
  std::filesystem::path target_;  ///< with symbolic links followed
  std::filesystem::path hidden_;
  int fd_ = -1;
  bool unnamed_ = false;  ///< the hidden name is not made yet
  bool replaces_ = false;
  bool synced_ = false;
};

/// Replaces the content of `path` in one step.
Result<void> replace_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace onnxkit
