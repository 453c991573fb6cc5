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
  std::uint64_t size = 0;         ///< unpacked, as announced
  std::uint64_t packed_size = 0;  ///< in the archive
  std::uint64_t offset = 0;       ///< of the packed bytes in the archive
  std::uint32_t checksum = 0;     ///< CRC-32 of the content
  bool is_stored = false;         ///< the packed bytes are the content
};

/// A zip archive in a mapped file, with the 64-bit sizes of large ones (APPNOTE.TXT of PKWARE, 4.3). The directory is read here,
/// since minizip 1.1 misses those sizes and takes cut files for whole. Entries that are stored as they are can be viewed in place; deflated ones are unpacked
/// into memory of their own. No entry is encrypted, lies outside the file, overlaps another, or has another's name.
class ZipArchive {
 public:
  /// Reads the directory. Error code: malformed-archive.
  static Result<ZipArchive> open(std::shared_ptr<const MappedFile> file);
  /// The archive that an entry is: in place where it is stored, else unpacked. Error codes: those of `open` and `unpack`.
  Result<ZipArchive> open_inner(const ZipEntry& entry, std::uint64_t most_bytes) const;

  /// In the order of the directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// Null when there is none of this name.
  const ZipEntry* find(std::string_view name) const;

  /// The content of one of `entries()`, its checksum compared. Memory grows with what is really there, never beyond the announced size.
  /// Error codes: malformed-archive, memory-limit (more than `most_bytes`).
  Result<std::string> unpack(const ZipEntry& entry, std::uint64_t most_bytes) const;
  /// The first bytes of it, `most` or as many as there are. Error code: malformed-archive.
  Result<std::string> unpack_start(const ZipEntry& entry, std::size_t most) const;
  /// The packed bytes in place.
  std::span<const std::byte> packed_bytes(const ZipEntry& entry) const;
  /// What holds the archive, alone or with more around it.
  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  /// All of the archive.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  ZipArchive(std::shared_ptr<const MappedFile> file, std::span<const std::byte> bytes)
      : file_(std::move(file)), bytes_(bytes) {}
  static Result<ZipArchive> read(ZipArchive archive);
  Result<void> read_directory();
  Result<void> check_entries() const;

  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> bytes_;
  std::vector<ZipEntry> entries_;
};

}  // namespace onnxkit::wire
