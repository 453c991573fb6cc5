#include "libonnxkit/wire/zip/archive.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include "libonnxkit/base/checked.h"

namespace onnxkit::wire {
namespace {

Error malformed_archive(std::string message, std::string_view entry = {}) {
  Error error = make_error("malformed-archive", std::move(message));
  if (!entry.empty()) error.diagnostic.found = quote(entry);
  return error;
}

/// A fixed part of a zip file: little-endian numbers at known places. `at` lies inside the file.
class ZipRecord {
 public:
  ZipRecord(std::string_view file, std::uint64_t at, std::size_t size)
      : bytes_(at <= file.size() && file.size() - at >= size ? file.substr(at, size) : std::string_view()) {}

  bool has(std::string_view signature) const { return bytes_.starts_with(signature); }
  std::uint64_t number(std::size_t at, std::size_t width) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width && at + i < bytes_.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes_[at + i])} << (8 * i);
    return value;
  }

 private:
  std::string_view bytes_;
};

constexpr std::size_t end_size = 22, wide_locator_size = 20, wide_end_size = 56, central_size = 46, local_size = 30;
constexpr std::uint64_t wide_16 = 0xffff, wide_32 = 0xffffffff;

/// Where the directory lies and how many entries it has.
struct ZipDirectory {
  std::uint64_t entries = 0, size = 0, offset = 0;
};

std::optional<ZipDirectory> find_directory(std::string_view file) {
  constexpr std::size_t longest_comment = 0xffff, comment_field = 20;
  for (std::size_t back = end_size; back <= std::min(file.size(), end_size + longest_comment); ++back) {
    const std::uint64_t at = file.size() - back;
    const ZipRecord end(file, at, end_size);
    if (!end.has("PK\5\6") || end.number(comment_field, 2) != back - end_size) continue;
    ZipDirectory directory{end.number(10, 2), end.number(12, 4), end.number(16, 4)};
    const bool is_wide = directory.entries == wide_16 || directory.size == wide_32 || directory.offset == wide_32;
    const ZipRecord locator(file, at >= wide_locator_size ? at - wide_locator_size : file.size(), wide_locator_size);
    if (!is_wide || !locator.has("PK\6\7")) return directory;
    const ZipRecord wide(file, locator.number(8, 8), wide_end_size);
    if (!wide.has("PK\6\6")) return std::nullopt;
    return ZipDirectory{wide.number(32, 8), wide.number(40, 8), wide.number(48, 8)};
  }
  return std::nullopt;
}

/// Fields that 32 bits do not hold are in the extra field with number 1, in this order. False when one is missing.
bool read_wide_fields(std::string_view extra, std::initializer_list<std::uint64_t*> fields) {
  constexpr std::uint64_t wide_number = 1;
  std::string_view wide;
  while (extra.size() >= 4) {
    const ZipRecord header(extra, 0, 4);
    const std::string_view content = extra.substr(4, header.number(2, 2));
    if (header.number(0, 2) == wide_number) wide = content;
    extra.remove_prefix(4 + content.size());
  }
  for (std::uint64_t* field : fields) {
    if (*field != wide_32) continue;
    if (wide.size() < 8) return false;
    *field = ZipRecord(wide, 0, 8).number(0, 8);
    wide.remove_prefix(8);
  }
  return true;
}

/// The entry whose record begins at `at`, which moves to the next.
Result<ZipEntry> read_entry(std::string_view file, std::uint64_t& at) {
  const Error damaged = malformed_archive("the directory of the archive is damaged");
  const ZipRecord record(file, at, central_size);
  if (!record.has("PK\1\2")) return damaged;
  const std::uint64_t name_size = record.number(28, 2), extra_size = record.number(30, 2);
  const std::uint64_t size = central_size + name_size + extra_size + record.number(32, 2);
  if (file.size() - at < size) return damaged;
  ZipEntry entry;
  entry.name = file.substr(at + central_size, name_size);
  entry.size = record.number(24, 4);
  entry.packed_size = record.number(20, 4);
  entry.checksum = static_cast<std::uint32_t>(record.number(16, 4));
  std::uint64_t local = record.number(42, 4);
  if (!read_wide_fields(file.substr(at + central_size + name_size, extra_size),
                        {&entry.size, &entry.packed_size, &local}))
    return damaged;
  at += size;
  constexpr std::uint64_t encrypted = 1, deflated = 8;
  if ((record.number(8, 2) & encrypted) != 0)
    return malformed_archive("an entry of the archive is encrypted", entry.name);
  const std::uint64_t method = record.number(10, 2);
  if (method != 0 && method != deflated)
    return malformed_archive("an entry of the archive is packed in a way other than deflate", entry.name);
  entry.is_stored = method == 0;
  const ZipRecord header(file, local, local_size);
  if (!header.has("PK\3\4")) return malformed_archive("an entry of the archive is damaged", entry.name);
  entry.offset = local + local_size + header.number(26, 2) + header.number(28, 2);
  return entry;
}

/// zlib's state for a stream without a header of its own.
class Inflater {
 public:
  Inflater() { is_ready_ = inflateInit2(&stream_, -MAX_WBITS) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (is_ready_) inflateEnd(&stream_);
  }

  /// The content, of `size` bytes exactly; nullopt when the packed bytes give another number. Memory grows with what is there.
  std::optional<std::string> unpack(std::span<const std::byte> packed, std::uint64_t size) {
    if (!is_ready_) return std::nullopt;
    constexpr std::size_t step = std::size_t{1} << 20;
    std::string content;
    int status = Z_OK;
    while (status == Z_OK) {
      if (stream_.avail_in == 0) take(packed);
      const std::size_t before = content.size();
      const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(step, size - before + 1));
      content.resize(before + room);
      stream_.next_out = reinterpret_cast<Bytef*>(content.data() + before);
      stream_.avail_out = static_cast<uInt>(room);
      status = inflate(&stream_, Z_NO_FLUSH);
      content.resize(before + room - std::min<std::size_t>(room, stream_.avail_out));
      if (content.size() > size) return std::nullopt;
    }
    if (status != Z_STREAM_END || content.size() != size) return std::nullopt;
    return content;
  }

  /// The first `size` bytes; nullopt when the packed bytes give fewer.
  std::optional<std::string> unpack_start(std::span<const std::byte> packed, std::size_t size) {
    if (!is_ready_) return std::nullopt;
    std::string content(size, '\0');
    stream_.next_out = reinterpret_cast<Bytef*>(content.data());
    stream_.avail_out = static_cast<uInt>(size);
    int status = Z_OK;
    while (status == Z_OK && stream_.avail_out > 0) {
      if (stream_.avail_in == 0) take(packed);
      status = inflate(&stream_, Z_NO_FLUSH);
    }
    if (stream_.avail_out > 0) return std::nullopt;
    return content;
  }

 private:
  void take(std::span<const std::byte>& packed) {
    const std::size_t piece = std::min<std::size_t>(packed.size(), std::size_t{1} << 30);
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));  // zlib does not write to it
    stream_.avail_in = static_cast<uInt>(piece);
    packed = packed.subspan(piece);
  }

  z_stream stream_{};
  bool is_ready_ = false;
};

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

Result<ZipArchive> ZipArchive::open(std::shared_ptr<const MappedFile> file) {
  const std::span<const std::byte> bytes = file->bytes();
  return read(ZipArchive(std::move(file), bytes));
}

Result<ZipArchive> ZipArchive::open_inner(const ZipEntry& entry, std::uint64_t most_bytes) const {
  if (entry.is_stored) return read(ZipArchive(file_, packed_bytes(entry)));
  auto content = unpack(entry, most_bytes);
  if (!content) return std::move(content).error();
  return open(MappedFile::from_bytes(*std::move(content)));
}

Result<ZipArchive> ZipArchive::read(ZipArchive archive) {
  if (auto read = archive.read_directory(); !read) return std::move(read).error();
  if (auto sound = archive.check_entries(); !sound) return std::move(sound).error();
  return archive;
}

Result<void> ZipArchive::read_directory() {
  const std::string_view bytes(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  const auto directory = find_directory(bytes);
  if (!directory) return malformed_archive("the file is not a complete zip archive");
  const auto end = checked_add(directory->offset, directory->size);
  if (!end || *end > bytes.size() || directory->entries > directory->size / central_size)
    return malformed_archive("the directory of the archive is damaged");
  std::uint64_t at = directory->offset;
  for (std::uint64_t i = 0; i < directory->entries; ++i) {
    auto entry = read_entry(bytes, at);
    if (!entry) return std::move(entry).error();
    entries_.push_back(*std::move(entry));
  }
  if (at != *end) return malformed_archive("the directory of the archive is damaged");
  return {};
}

Result<void> ZipArchive::check_entries() const {
  std::unordered_set<std::string_view> names;
  std::vector<const ZipEntry*> by_offset;
  for (const ZipEntry& entry : entries_) {
    const auto end = checked_add(entry.offset, entry.packed_size);
    if (!end || *end > bytes_.size())
      return malformed_archive("an entry of the archive ends behind the file", entry.name);
    if (entry.is_stored && entry.size != entry.packed_size)
      return malformed_archive("an entry of the archive has two sizes", entry.name);
    if (!names.insert(entry.name).second)
      return malformed_archive("two entries of the archive have the same name", entry.name);
    by_offset.push_back(&entry);
  }
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
  return bytes_.subspan(entry.offset, entry.packed_size);
}

Result<std::string> ZipArchive::unpack(const ZipEntry& entry, std::uint64_t most_bytes) const {
  if (entry.size > most_bytes) {
    Error error = make_error("memory-limit", "an entry of the archive takes more memory than allowed");
    error.diagnostic.expected = "at most " + std::to_string(most_bytes) + " bytes";
    error.diagnostic.found = quote(entry.name) + " of " + std::to_string(entry.size) + " bytes";
    return error;
  }
  const auto packed = packed_bytes(entry);
  std::optional<std::string> content;
  if (entry.is_stored) {
    content.emplace(reinterpret_cast<const char*>(packed.data()), packed.size());
  } else {
    content = Inflater().unpack(packed, entry.size);
  }
  if (!content || checksum_of(*content) != entry.checksum)
    return malformed_archive("an entry of the archive is damaged", entry.name);
  return *std::move(content);
}

Result<std::string> ZipArchive::unpack_start(const ZipEntry& entry, std::size_t most) const {
  constexpr std::uint64_t longest = std::uint64_t{1} << 30;  // what zlib takes in one step
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>({entry.size, most, longest}));
  const auto packed = packed_bytes(entry);
  if (entry.is_stored) return std::string(reinterpret_cast<const char*>(packed.data()), size);
  auto content = Inflater().unpack_start(packed, size);
  if (!content) return malformed_archive("an entry of the archive is damaged", entry.name);
  return *std::move(content);
}

}  // namespace onnxkit::wire
