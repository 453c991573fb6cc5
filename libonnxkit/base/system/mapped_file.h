#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "onnxkit/result.h"

namespace onnxkit {

/// A file mapped read-only and private. Its bytes stay where they are while the object lives; a shared_ptr keeps it alive.
/// The mapping follows the inode: replacing the file by rename does not disturb it, truncating it in place does.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  /// The file at `relative`, which lies below `folder` and is reached without a symbolic link or a "..". What is opened is what was
  /// tested, whoever changes the folder meanwhile. `folder` itself may be reached through links.
  static Result<std::shared_ptr<const MappedFile>> open_beneath(const std::filesystem::path& folder,
                                                                const std::filesystem::path& relative);
  /// Takes over bytes that are already in memory (standard input, tests), same interface.
  static std::shared_ptr<const MappedFile> from_bytes(std::string bytes);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  /// Device and inode, so that two paths to one file can be recognised. Zero for bytes in memory.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool operator==(const Identity&) const = default;
  };
  Identity identity() const { return identity_; }
  /// Names that the file had when it was opened. Zero for bytes in memory.
  std::uint64_t hard_links() const { return hard_links_; }

 private:
  MappedFile() = default;
  /// `descriptor` is below 0 where opening failed, with the reason in errno. It stays open.
  static Result<std::shared_ptr<const MappedFile>> map(int descriptor, const std::filesystem::path& path);

  std::span<const std::byte> bytes_;
  std::string owned_;
  bool mapped_ = false;
  Identity identity_;
  std::uint64_t hard_links_ = 0;
};

}  // namespace onnxkit
