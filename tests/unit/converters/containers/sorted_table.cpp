#include "converters/containers/sorted_table.h"

#include <doctest/doctest.h>

#include <cstring>

#include "converters/containers/crc32c.h"

namespace onnxkit::tests::containers_sorted_table {

using containers::crc32c;
using containers::masked_crc;
using containers::read_sorted_table;

std::uint32_t crc_of(std::string_view bytes) { return crc32c(std::as_bytes(std::span(bytes))); }

void append_word(std::string& bytes, std::uint32_t word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

/// A block of entries without shared beginnings, unless `shared` says otherwise, with its type and checksum.
std::string block_of(const std::vector<std::pair<std::string, std::string>>& entries, char shared = 0) {
  std::string block;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    block += i == 0 ? '\0' : shared;
    block += static_cast<char>(entries[i].first.size());
    block += static_cast<char>(entries[i].second.size());
    block += entries[i].first + entries[i].second;
  }
  append_word(block, 0);
  append_word(block, 1);
  block += '\0';
  append_word(block, masked_crc(crc_of(block)));
  return block;
}

/// Where a block lies; all are below 128 bytes.
std::string handle_of(std::size_t offset, const std::string& block) {
  constexpr std::size_t trailer = 5;
  return {static_cast<char>(offset), static_cast<char>(block.size() - trailer)};
}

std::string table_of(const std::string& data) {
  const std::string index = block_of({{"z", handle_of(0, data)}});
  std::string footer = handle_of(0, data) + handle_of(data.size(), index);
  footer.resize(40, '\0');
  return data + index + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

TEST_CASE("CRC-32C: known values, and in parts") {
  CHECK(crc_of("") == 0);
  CHECK(crc_of("123456789") == 0xe3069283);
  CHECK(crc_of(std::string(32, '\0')) == 0x8a9136aa);
  const std::string text = "a text that is longer than one step of eight bytes";
  for (std::size_t split = 0; split <= text.size(); ++split)
    CHECK(crc32c(std::as_bytes(std::span(text)).subspan(split), crc_of(text.substr(0, split))) == crc_of(text));
}

TEST_CASE("sorted table: entries whose keys share beginnings") {
  const std::string file = table_of(block_of({{"", "header"}, {"ab", "1"}, {"c", "23"}}));
  const auto entries = read_sorted_table(file);
  REQUIRE(entries);
  CHECK(*entries == containers::SortedEntries{{"", "header"}, {"ab", "1"}, {"c", "23"}});
  const std::string sharing = table_of(block_of({{"ab", "1"}, {"c", "23"}}, 1));
  const auto shared = read_sorted_table(sharing);
  REQUIRE(shared);
  CHECK((*shared)[1].first == "ac");
}

TEST_CASE("sorted table: what is damaged is an error") {
  const std::string file = table_of(block_of({{"a", "1"}, {"b", "2"}}));
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string other = file;
    other[at] = static_cast<char>(other[at] ^ 0x41);
    const auto entries = read_sorted_table(other);
    if (!entries) CHECK(entries.error().diagnostic.code == "malformed-model");
  }
  for (std::size_t size = 0; size < file.size(); ++size)
    CHECK_FALSE(read_sorted_table(std::string_view(file).substr(0, size)));
  CHECK_FALSE(read_sorted_table(table_of(block_of({{"b", "1"}, {"a", "2"}}))));
  CHECK_FALSE(read_sorted_table(table_of(block_of({{"a", "1"}, {"b", "2"}}, 7))));
}

}  // namespace onnxkit::tests::containers_sorted_table
