#include "libonnxkit/wire/zip/archive.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/wire/zip/memory_file.h"

namespace onnxkit::wire {
namespace {

Error malformed_archive(std::string message, std::string_view entry = {}) {
  Error error = make_error("malformed-archive", std::move(message));
  if (!entry.empty()) error.diagnostic.found = quote(entry);
  return error;
}

/// The entries that the record at the end of a zip file announces, modulo 2^16; nullopt without a record that reaches exactly to the end.
/// minizip takes a cut one for whole.
std::optional<std::uint32_t> announced_entries(std::string_view file) {
  constexpr std::string_view signature = "PK\5\6";
  constexpr std::size_t record = 22, longest_comment = 0xffff;
  const auto number = [&](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(file[at]) | static_cast<unsigned char>(file[at + 1])
                                                                                 << 8);
  };
  for (std::size_t back = record; back <= std::min(file.size(), record + longest_comment); ++back) {
    const std::size_t at = file.size() - back;
    if (file.substr(at, signature.size()) == signature && number(at + 20) == back - record) return number(at + 10);
  }
  return std::nullopt;
}

struct UnzipCloser {
  void operator()(void* zip) const { unzClose(zip); }
};

/// minizip's view of a file in memory.
struct Unzip {
  explicit Unzip(std::string_view bytes) : memory{.bytes = bytes}, calls(callbacks(memory)) {
    handle.reset(unzOpen2_64("zip", &calls));
  }
  Unzip(const Unzip&) = delete;
  Unzip& operator=(const Unzip&) = delete;

  MemoryFile memory;
  zlib_filefunc64_def calls;
  std::unique_ptr<void, UnzipCloser> handle;
};

/// What the directory says of the entry at hand.
Result<ZipEntry> entry_at(unzFile zip, std::uint64_t file_size) {
  unz_file_info64 info{};
  if (unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
    return malformed_archive("the directory of the archive is damaged");
  std::string name(info.size_filename, '\0');
  if (unzGetCurrentFileInfo64(zip, nullptr, name.data(), info.size_filename, nullptr, 0, nullptr, 0) != UNZ_OK)
    return malformed_archive("the directory of the archive is damaged");
  constexpr uLong encrypted = 1;
  if ((info.flag & encrypted) != 0) return malformed_archive("an entry of the archive is encrypted", name);
  if (info.compression_method != 0 && info.compression_method != Z_DEFLATED)
    return malformed_archive("an entry of the archive is packed in a way other than deflate", name);
  ZipEntry entry{.name = std::move(name), .size = info.uncompressed_size, .packed_size = info.compressed_size};
  entry.is_stored = info.compression_method == 0;
  if (entry.is_stored && entry.size != entry.packed_size)
    return malformed_archive("an entry of the archive has two sizes", entry.name);
  if (unzOpenCurrentFile(zip) != UNZ_OK) return malformed_archive("an entry of the archive is damaged", entry.name);
  entry.offset = unzGetCurrentFileZStreamPos64(zip);
  unzCloseCurrentFile(zip);
  const auto end = checked_add(entry.offset, entry.packed_size);
  if (!end || *end > file_size) return malformed_archive("an entry of the archive ends behind the file", entry.name);
  return entry;
}

}  // namespace

Result<ZipArchive> ZipArchive::open(std::shared_ptr<const MappedFile> file) {
  ZipArchive archive(std::move(file));
  if (auto read = archive.read_directory(); !read) return std::move(read).error();
  if (auto apart = archive.check_overlaps(); !apart) return std::move(apart).error();
  return archive;
}

Result<void> ZipArchive::read_directory() {
  const std::string_view bytes = file_->view();
  const auto announced = announced_entries(bytes);
  if (!announced) return malformed_archive("the file is not a complete zip archive");
  if (*announced == 0) return {};
  Unzip zip(bytes);
  if (!zip.handle) return malformed_archive("the directory of the archive is damaged");
  std::unordered_set<std::string> names;
  int status = unzGoToFirstFile(zip.handle.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(zip.handle.get())) {
    auto entry = entry_at(zip.handle.get(), bytes.size());
    if (!entry) return std::move(entry).error();
    unz64_file_pos position{};
    if (unzGetFilePos64(zip.handle.get(), &position) != UNZ_OK)
      return malformed_archive("the directory of the archive is damaged");
    if (!names.insert(entry->name).second)
      return malformed_archive("two entries of the archive have the same name", entry->name);
    entry->number = position.num_of_file;
    entry->directory_position = position.pos_in_zip_directory;
    entries_.push_back(*std::move(entry));
  }
  unz_global_info64 info{};
  unzGetGlobalInfo64(zip.handle.get(), &info);
  if (status != UNZ_END_OF_LIST_OF_FILE || info.number_entry != entries_.size())
    return malformed_archive("the directory of the archive is damaged");
  return {};
}

Result<void> ZipArchive::check_overlaps() const {
  std::vector<const ZipEntry*> by_offset;
  for (const ZipEntry& entry : entries_) by_offset.push_back(&entry);
  std::sort(by_offset.begin(), by_offset.end(),
            [](const ZipEntry* a, const ZipEntry* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const ZipEntry& before = *by_offset[i - 1];
    if (before.offset + before.packed_size > by_offset[i]->offset)
      return malformed_archive("two entries of the archive overlap", by_offset[i]->name);
  }
  return {};
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const ZipEntry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::span<const std::byte> ZipArchive::packed_bytes(const ZipEntry& entry) const {
  return file_->bytes().subspan(entry.offset, entry.packed_size);
}

Result<std::string> ZipArchive::unpack(const ZipEntry& entry, std::uint64_t most_bytes) const {
  if (entry.size > most_bytes) {
    Error error = make_error("memory-limit", "an entry of the archive takes more memory than allowed");
    error.diagnostic.expected = "at most " + std::to_string(most_bytes) + " bytes";
    error.diagnostic.found = quote(entry.name) + " of " + std::to_string(entry.size) + " bytes";
    return error;
  }
  const Error damaged = malformed_archive("an entry of the archive is damaged", entry.name);
  Unzip zip(file_->view());
  unz64_file_pos position{.pos_in_zip_directory = entry.directory_position, .num_of_file = entry.number};
  if (!zip.handle || unzGoToFilePos64(zip.handle.get(), &position) != UNZ_OK ||
      unzOpenCurrentFile(zip.handle.get()) != UNZ_OK)
    return damaged;
  constexpr std::size_t step = std::size_t{1} << 20;
  std::string content;
  int got = 1;
  while (got > 0 && content.size() <= entry.size) {
    const std::size_t before = content.size();
    content.resize(before + static_cast<std::size_t>(std::min<std::uint64_t>(step, entry.size - before + 1)));
    got = unzReadCurrentFile(zip.handle.get(), content.data() + before, static_cast<unsigned>(content.size() - before));
    content.resize(before + static_cast<std::size_t>(std::max(got, 0)));
  }
  const bool intact = unzCloseCurrentFile(zip.handle.get()) == UNZ_OK;  // compares the checksum
  if (got < 0 || !intact || content.size() != entry.size) return damaged;
  return content;
}

}  // namespace onnxkit::wire
