#include "libonnxkit/wire/zip/archive.h"

#include <doctest/doctest.h>

#include "tests/unit/wire/show.h"

namespace onnxkit::tests::wire_zip {
namespace {

/// CRC-32 as zip has it, bit by bit.
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

void put(std::string& bytes, std::uint64_t number, int width) {
  for (int i = 0; i < width; ++i, number >>= 8) bytes += static_cast<char>(number);
}

/// An archive of stored entries, by name and content.
std::string zipped(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes, directory;
  for (const auto& [name, content] : entries) {
    std::string common;
    put(common, 20, 2);  // version
    put(common, 0, 8);   // flags, method, time and day
    put(common, checksum(content), 4);
    put(common, content.size(), 4);
    put(common, content.size(), 4);
    put(common, name.size(), 2);
    put(common, 0, 2);  // no extra field
    directory += "PK\1\2";
    put(directory, 20, 2);
    directory += common;
    put(directory, 0, 10);  // comment, disk, attributes
    put(directory, bytes.size(), 4);
    directory += name;
    bytes += "PK\3\4" + common + name + content;
  }
  const std::size_t start = bytes.size();
  bytes += directory + "PK\5\6";
  put(bytes, 0, 4);
  for (int i = 0; i < 2; ++i) put(bytes, entries.size(), 2);
  put(bytes, directory.size(), 4);
  put(bytes, start, 4);
  put(bytes, 0, 2);
  return bytes;
}

std::string code_of(std::string bytes) {
  const auto archive = wire::ZipArchive::open(MappedFile::from_bytes(std::move(bytes)));
  return archive ? "" : archive.error().diagnostic.code;
}

}  // namespace

TEST_CASE("zip: stored entries lie in the file") {
  const auto archive = wire::ZipArchive::open(MappedFile::from_bytes(zipped({{"a/b", "hello"}, {"c", "world"}})));
  REQUIRE(archive);
  REQUIRE(archive->entries().size() == 2);
  const wire::ZipEntry* stored = archive->find("a/b");
  REQUIRE(stored);
  CHECK(stored->is_stored);
  const auto view = archive->packed_bytes(*stored);
  CHECK(std::string(reinterpret_cast<const char*>(view.data()), view.size()) == "hello");
  CHECK(*archive->unpack(*archive->find("c"), 5) == "world");
  CHECK(archive->unpack(*archive->find("c"), 4).error().diagnostic.code == "memory-limit");
  CHECK(archive->find("d") == nullptr);
}

TEST_CASE("zip: an archive in an archive") {
  const std::string inner = zipped({{"a/b", "hello"}});
  const auto outer = wire::ZipArchive::open(MappedFile::from_bytes(zipped({{"c", "world"}, {"inner", inner}})));
  REQUIRE(outer);
  const auto archive = outer->open_inner(*outer->find("inner"), 0);
  REQUIRE(archive);
  CHECK(archive->file() == outer->file());
  CHECK(archive->bytes().size() == inner.size());
  const auto view = archive->packed_bytes(*archive->find("a/b"));
  CHECK(std::string(reinterpret_cast<const char*>(view.data()), view.size()) == "hello");
  CHECK(outer->open_inner(*outer->find("c"), 0).error().diagnostic.code == "malformed-archive");
}

TEST_CASE("zip: deflated entries are unpacked") {
  const auto archive = wire::ZipArchive::open(MappedFile::from_bytes(npy_bytes("compressed.npz")));
  REQUIRE(archive);
  const wire::ZipEntry& packed = archive->entries().front();
  CHECK_FALSE(packed.is_stored);
  const auto content = archive->unpack(packed, packed.size);
  REQUIRE(content);
  CHECK(content->size() == packed.size);
  CHECK(content->find("NUMPY") == 1);
}

TEST_CASE("zip: two entries of one name, a changed byte, a cut file") {
  CHECK(code_of(zipped({{"a", "1"}, {"a", "2"}})) == "malformed-archive");
  const std::string whole = zipped({{"a", "hello"}});
  CHECK(code_of(whole).empty());
  CHECK(code_of(whole.substr(0, whole.size() - 1)) == "malformed-archive");
  std::string changed = whole;
  changed[changed.find("hello")] = 'j';
  const auto archive = wire::ZipArchive::open(MappedFile::from_bytes(changed));
  REQUIRE(archive);
  CHECK(archive->unpack(archive->entries().front(), 100).error().diagnostic.code == "malformed-archive");
}

TEST_CASE("zip: an entry that overlaps another, one that reaches behind the file") {
  std::string bytes = zipped({{"a", "hello"}, {"b", "world"}});
  // The directory's record of b, 42 bytes before its name, has the offset of its local header.
  const std::size_t record = bytes.rfind("PK\1\2");
  std::string overlapping = bytes;
  for (std::size_t i = 0; i < 4; ++i) overlapping[record + 42 + i] = 0;
  CHECK(code_of(overlapping) == "malformed-archive");
  std::string too_large = bytes;
  for (const std::size_t size : {std::size_t{20}, std::size_t{24}}) too_large[record + size + 1] = '\x7f';
  CHECK(code_of(too_large) == "malformed-archive");
}

}  // namespace onnxkit::tests::wire_zip
