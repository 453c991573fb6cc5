#include "converters/containers/sorted_table.h"

#include <cstring>

#include <fmt/format.h>

#include "converters/containers/crc32c.h"
#include "libonnxkit/wire/binary/cursor.h"

namespace onnxkit::containers {
namespace {

using wire::Cursor;
using wire::Fault;

constexpr std::size_t footer_size = 48, handles_size = 40, word_size = 4;
constexpr std::uint64_t table_magic = 0xdb4775248b80fb57;

Error damaged_table(std::string_view what) {
  return make_error("malformed-model", fmt::format("the table of variables is damaged: {}", what));
}

/// Where a block lies.
struct Handle {
  std::uint64_t offset = 0, size = 0;
};

bool read_handle(Cursor& cursor, Handle& handle) {
  return cursor.varint(handle.offset) == Fault::none && cursor.varint(handle.size) == Fault::none;
}

std::uint32_t word_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

class TableReader {
 public:
  explicit TableReader(std::string_view file) : file_(file) {}

  Result<SortedEntries> read() {
    if (file_.size() < footer_size) return damaged_table("it is too short");
    const std::string_view footer = file_.substr(file_.size() - footer_size);
    std::uint64_t magic = 0;
    std::memcpy(&magic, footer.data() + handles_size, sizeof(magic));
    if (magic != table_magic) return damaged_table("its end is not that of a sorted table");
    Cursor cursor(footer.substr(0, handles_size));
    Handle meta, index;
    if (!read_handle(cursor, meta) || !read_handle(cursor, index)) return damaged_table("its end has no handles");
    SortedEntries blocks, entries;
    if (auto done = read_block(index, blocks); !done) return done.error();
    for (const auto& [last_key, value] : blocks) {
      Cursor in_value(value);
      Handle handle;
      if (!read_handle(in_value, handle)) return damaged_table("its index has no handle of a block");
      if (auto done = read_block(handle, entries); !done) return done.error();
    }
    return entries;
  }

 private:
  /// The entries of a block, without type and checksum behind it.
  Result<std::string_view> content_of(Handle handle) const {
    constexpr std::size_t trailer = 1 + word_size;
    const std::uint64_t size = file_.size();
    if (handle.size > size || handle.offset > size - handle.size || size - handle.size - handle.offset < trailer)
      return damaged_table("a block ends behind the file");
    const std::string_view whole = file_.substr(handle.offset, handle.size + 1);
    if (masked_crc(crc32c(std::as_bytes(std::span(whole)))) != word_at(file_, handle.offset + handle.size + 1))
      return damaged_table("the checksum of a block differs");
    if (whole.back() != 0) return make_error("not-supported", "the table of variables is compressed");
    const std::string_view block = whole.substr(0, handle.size);
    if (block.size() < word_size) return damaged_table("a block is too short");
    const std::uint64_t restarts = word_at(block, block.size() - word_size);
    if (restarts > block.size() / word_size - 1) return damaged_table("a block is too short");
    return block.substr(0, block.size() - word_size * (restarts + 1));
  }

  Result<void> read_block(Handle handle, SortedEntries& entries) {
    const auto content = content_of(handle);
    if (!content) return content.error();
    std::string key;
    for (Cursor cursor(*content); !cursor.at_end();) {
      std::uint64_t shared = 0, tail = 0, size = 0;
      if (cursor.varint(shared) != Fault::none || cursor.varint(tail) != Fault::none ||
          cursor.varint(size) != Fault::none || shared > key.size() || tail > cursor.left() ||
          size > cursor.left() - tail)
        return damaged_table("an entry ends behind its block");
      key.resize(shared);
      key.append(cursor.position(), tail);
      if (!entries.empty() && entries.back().first >= key) return damaged_table("its keys do not ascend");
      entries.emplace_back(key, std::string_view(cursor.position() + tail, size));
      cursor = Cursor(std::string_view(cursor.position() + tail + size, cursor.left() - tail - size));
      // Keys that share their beginning take more memory than they take in the file: sixteen times as much in files that were written well.
      constexpr std::size_t most_times = 64;
      key_bytes_ += key.size();
      if (key_bytes_ / most_times > file_.size()) return damaged_table("its keys are longer than can be");
    }
    return {};
  }

  std::string_view file_;
  std::size_t key_bytes_ = 0;
};

}  // namespace

Result<SortedEntries> read_sorted_table(std::string_view file) { return TableReader(file).read(); }

}  // namespace onnxkit::containers
