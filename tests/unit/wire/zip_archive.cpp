#include "libonnxkit/wire/zip/archive.h"

#include <doctest/doctest.h>
#include <minizip/zip.h>

#include "libonnxkit/wire/zip/memory_file.h"

namespace onnxkit::tests::wire_zip {
namespace {

struct Entry {
  std::string name, content;
  bool deflated = false;
};

std::string zipped(const std::vector<Entry>& entries) {
  std::string bytes;
  wire::MemoryFile memory{.bytes = {}, .written = &bytes};
  zlib_filefunc64_def calls = wire::callbacks(memory);
  const zipFile zip = zipOpen2_64("zip", APPEND_STATUS_CREATE, nullptr, &calls);
  for (const Entry& entry : entries) {
    zip_fileinfo info{};
    zipOpenNewFileInZip64(zip, entry.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                          entry.deflated ? Z_DEFLATED : 0, entry.deflated ? 9 : 0, 0);
    zipWriteInFileInZip(zip, entry.content.data(), static_cast<unsigned>(entry.content.size()));
    zipCloseFileInZip(zip);
  }
  zipClose(zip, nullptr);
  return bytes;
}

std::string code_of(std::string bytes) {
  const auto archive = wire::ZipArchive::open(MappedFile::from_bytes(std::move(bytes)));
  return archive ? "" : archive.error().diagnostic.code;
}

}  // namespace

TEST_CASE("zip: stored entries lie in the file, deflated ones are unpacked") {
  const std::string text(1000, 'x');
  const auto archive = wire::ZipArchive::open(MappedFile::from_bytes(zipped({{"a/b", "hello"}, {"c", text, true}})));
  REQUIRE(archive);
  REQUIRE(archive->entries().size() == 2);
  const wire::ZipEntry* stored = archive->find("a/b");
  REQUIRE(stored);
  CHECK(stored->is_stored);
  const auto view = archive->packed_bytes(*stored);
  CHECK(std::string(reinterpret_cast<const char*>(view.data()), view.size()) == "hello");
  CHECK(view.data() >= archive->file()->bytes().data());
  const wire::ZipEntry* packed = archive->find("c");
  REQUIRE(packed);
  CHECK(packed->packed_size < 100);
  CHECK(*archive->unpack(*packed, 1000) == text);
  CHECK(archive->unpack(*packed, 999).error().diagnostic.code == "memory-limit");
  CHECK(archive->find("d") == nullptr);
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
