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

 private:
  MappedFile() = default;
  std::span<const std::byte> bytes_;
  std::string owned_;
  bool mapped_ = false;
  Identity identity_;
};

}  // namespace onnxkit
