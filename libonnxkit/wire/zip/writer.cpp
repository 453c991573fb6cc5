#include "libonnxkit/wire/zip/writer.h"

#include <zlib.h>

#include <algorithm>

namespace onnxkit::wire {
namespace {

constexpr std::uint32_t short_limit = 0xffffffff;
constexpr std::uint16_t no_date = 0x21;  // 1 January 1980, the first that there is
constexpr std::uint16_t padding_id = 0x4246, zip64_id = 1;

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint32_t shortened(std::uint64_t value) {
  return value >= short_limit ? short_limit : static_cast<std::uint32_t>(value);
}

/// What local headers and the directory have in common: from the version to the checksum and sizes.
void put_common(std::string& out, bool is_large, std::uint32_t checksum, std::uint64_t size) {
  put<std::uint16_t>(out, is_large ? 45 : 20);
  put<std::uint16_t>(out, 0x800);  // names are UTF-8
  put<std::uint16_t>(out, 0);      // stored
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, no_date);
  put<std::uint32_t>(out, checksum);
  put<std::uint32_t>(out, shortened(size));
  put<std::uint32_t>(out, shortened(size));
}

}  // namespace

Result<void> ZipWriter::write(std::string_view bytes) {
  at_ += bytes.size();
  return sink_(bytes);
}

Result<void> ZipWriter::add(std::string_view name, const std::vector<std::string_view>& pieces, std::size_t align) {
  Entry entry{.name = std::string(name), .offset = at_};
  for (const std::string_view piece : pieces) {
    entry.checksum =
        static_cast<std::uint32_t>(crc32_z(entry.checksum, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
    entry.size += piece.size();
  }
  if (name.size() > 0xffff) return make_error("cannot-write", "a name in the archive is too long");
  const bool is_large = entry.size >= short_limit;
  std::string extra;
  if (is_large) {
    put<std::uint16_t>(extra, zip64_id);
    put<std::uint16_t>(extra, 16);
    put<std::uint64_t>(extra, entry.size);
    put<std::uint64_t>(extra, entry.size);
  }
  if (align > 1) {
    constexpr std::size_t header = 30, field = 4;
    const std::uint64_t begin = at_ + header + name.size() + extra.size() + field;
    const std::size_t padding = (align - begin % align) % align;
    put<std::uint16_t>(extra, padding_id);
    put<std::uint16_t>(extra, static_cast<std::uint16_t>(padding));
    extra.append(padding, 'Z');
  }
  std::string head = "PK\3\4";
  put_common(head, is_large, entry.checksum, entry.size);
  put<std::uint16_t>(head, static_cast<std::uint16_t>(name.size()));
  put<std::uint16_t>(head, static_cast<std::uint16_t>(extra.size()));
  head += name;
  head += extra;
  Result<void> written = write(head);
  for (std::size_t p = 0; written && p < pieces.size(); ++p) written = write(pieces[p]);
  entries_.push_back(std::move(entry));
  return written;
}

Result<void> ZipWriter::finish() {
  const std::uint64_t directory = at_;
  for (const Entry& entry : entries_) {
    std::string extra;
    const bool is_large = entry.size >= short_limit, is_far = entry.offset >= short_limit;
    if (is_large || is_far) {
      put<std::uint16_t>(extra, zip64_id);
      put<std::uint16_t>(extra, static_cast<std::uint16_t>((is_large ? 16 : 0) + (is_far ? 8 : 0)));
      if (is_large) put<std::uint64_t>(extra, entry.size);
      if (is_large) put<std::uint64_t>(extra, entry.size);
      if (is_far) put<std::uint64_t>(extra, entry.offset);
    }
    std::string record = "PK\1\2";
    put<std::uint16_t>(record, is_large || is_far ? 45 : 20);
    put_common(record, is_large || is_far, entry.checksum, entry.size);
    put<std::uint16_t>(record, static_cast<std::uint16_t>(entry.name.size()));
    put<std::uint16_t>(record, static_cast<std::uint16_t>(extra.size()));
    put<std::uint16_t>(record, 0);  // no comment
    put<std::uint16_t>(record, 0);  // first disk
    put<std::uint16_t>(record, 0);
    put<std::uint32_t>(record, 0);
    put<std::uint32_t>(record, shortened(entry.offset));
    record += entry.name;
    record += extra;
    if (Result<void> written = write(record); !written) return written;
  }
  const std::uint64_t end = at_, size = end - directory, count = entries_.size();
  std::string tail;
  if (count >= 0xffff || size >= short_limit || directory >= short_limit) {
    tail += "PK\6\6";
    put<std::uint64_t>(tail, 44);
    put<std::uint16_t>(tail, 45);
    put<std::uint16_t>(tail, 45);
    put<std::uint32_t>(tail, 0);
    put<std::uint32_t>(tail, 0);
    put<std::uint64_t>(tail, count);
    put<std::uint64_t>(tail, count);
    put<std::uint64_t>(tail, size);
    put<std::uint64_t>(tail, directory);
    tail += "PK\6\7";
    put<std::uint32_t>(tail, 0);
    put<std::uint64_t>(tail, end);
    put<std::uint32_t>(tail, 1);
  }
  tail += "PK\5\6";
  put<std::uint32_t>(tail, 0);
  const auto short_count = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffff));
  put<std::uint16_t>(tail, short_count);
  put<std::uint16_t>(tail, short_count);
  put<std::uint32_t>(tail, shortened(size));
  put<std::uint32_t>(tail, shortened(directory));
  put<std::uint16_t>(tail, 0);
  return write(tail);
}

}  // namespace onnxkit::wire
