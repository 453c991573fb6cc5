#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "onnxkit/result.h"

namespace onnxkit::wire {

/// A file inside a zip archive.
struct ZipEntry {
  std::string name;
  std::uint64_t size = 0;                ///< unpacked, as announced
  std::uint64_t packed_size = 0;         ///< in the archive
  std::uint64_t offset = 0;              ///< of the packed bytes in the archive
  bool is_stored = false;                ///< the packed bytes are the content
  std::uint64_t number = 0;              ///< in the directory
  std::uint64_t directory_position = 0;  ///< in bytes
};

/// A zip archive in a mapped file. Entries that are stored as they are can be viewed in place; deflated ones are unpacked
/// into memory of their own. No entry is encrypted, lies outside the file, overlaps another, or has another's name.
class ZipArchive {
 public:
  /// Reads the directory. Error code: malformed-archive.
  static Result<ZipArchive> open(std::shared_ptr<const MappedFile> file);

  /// In the order of the directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// Null when there is none of this name.
  const ZipEntry* find(std::string_view name) const;

  /// The content of one of `entries()`, its checksum compared. Memory grows with what is really there, never beyond the announced size.
  /// Error codes: malformed-archive, memory-limit (more than `most_bytes`).
  Result<std::string> unpack(const ZipEntry& entry, std::uint64_t most_bytes) const;
  /// The packed bytes in place.
  std::span<const std::byte> packed_bytes(const ZipEntry& entry) const;
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  explicit ZipArchive(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  Result<void> read_directory();
  Result<void> check_overlaps() const;

  std::shared_ptr<const MappedFile> file_;
  std::vector<ZipEntry> entries_;
};

}  // namespace onnxkit::wire
