#include "converters/containers/sorted_table_writer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "converters/containers/crc32c.h"
#include "converters/containers/protobuf_writer.h"

namespace onnxkit::containers {
namespace {

constexpr std::size_t usual_block = 256 * 1024;

void append_word(std::string& bytes, std::uint32_t word) {
  char text[sizeof(word)];
  std::memcpy(text, &word, sizeof(word));
  bytes.append(text, sizeof(word));
}

}  // namespace

void SortedTableWriter::Block::add(std::string_view key, std::string_view value, std::size_t between) {
  std::size_t shared = 0;
  if (entries % between == 0)
    append_word(restarts, static_cast<std::uint32_t>(bytes.size()));
  else
    shared = static_cast<std::size_t>(std::mismatch(key.begin(), key.end(), last_key.begin(), last_key.end()).first -
                                      key.begin());
  append_varint(bytes, shared);
  append_varint(bytes, key.size() - shared);
  append_varint(bytes, value.size());
  bytes += key.substr(shared);
  bytes += value;
  last_key = key;
  ++entries;
}

void SortedTableWriter::add(std::string_view key, std::string_view value) {
  constexpr std::size_t between = 16;
  data_.add(key, value, between);
  if (data_.bytes.size() < usual_block) return;
  const std::string last = data_.last_key;
  index_.add(last, close(data_), 1);
}

std::string SortedTableWriter::close(Block& block) {
  if (block.restarts.empty()) append_word(block.restarts, 0);
  std::string content = block.bytes + block.restarts;
  append_word(content, static_cast<std::uint32_t>(block.restarts.size() / sizeof(std::uint32_t)));
  std::string handle;
  append_varint(handle, file_.size());
  append_varint(handle, content.size());
  content.push_back(0);  // not compressed
  const std::uint32_t checksum = masked_crc(crc32c(std::as_bytes(std::span(content))));
  file_ += content;
  append_word(file_, checksum);
  block = Block();
  return handle;
}

std::string SortedTableWriter::finish() {
  if (data_.entries > 0) {
    const std::string last = data_.last_key;
    index_.add(last, close(data_), 1);
  }
  Block meta;
  std::string ending = close(meta) + close(index_);
  constexpr std::size_t bytes_of_handles = 40;
  ending.resize(bytes_of_handles, '\0');
  constexpr std::uint64_t magic = 0xdb4775248b80fb57;
  char text[sizeof(magic)];
  std::memcpy(text, &magic, sizeof(magic));
  ending.append(text, sizeof(magic));
  return std::move(file_) + ending;
}

}  // namespace onnxkit::containers
