#include "libonnxkit/wire/zip/writer.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "libonnxkit/wire/zip/archive.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::wire_zip_writer {
namespace {

wire::ZipArchive opened(std::string bytes) {
  auto archive = wire::ZipArchive::open(MappedFile::from_bytes(std::move(bytes)));
  REQUIRE(archive.ok());
  return *std::move(archive);
}

ByteSink into(std::string& bytes) {
  return [&bytes](std::string_view part) { return bytes += part, Result<void>(); };
}

/// A file that leaves holes where only zeros are written.
class SparseFile {
 public:
  explicit SparseFile(const std::filesystem::path& path)
      : file_(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) {
    REQUIRE(file_ >= 0);
  }
  SparseFile(const SparseFile&) = delete;
  SparseFile& operator=(const SparseFile&) = delete;
  ~SparseFile() { ::close(file_); }

  Result<void> write(std::string_view bytes) {
    constexpr std::size_t hole = std::size_t{1} << 30;
    if (bytes.size() < hole)
      REQUIRE(::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(at_)) ==
              static_cast<ssize_t>(bytes.size()));
    at_ += bytes.size();
    REQUIRE(::ftruncate(file_, static_cast<off_t>(at_)) == 0);
    return {};
  }

 private:
  int file_;
  std::uint64_t at_ = 0;
};

/// Zeros that take no memory.
class Zeros {
 public:
  explicit Zeros(std::size_t size)
      : size_(size), bytes_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    REQUIRE(bytes_ != MAP_FAILED);
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  ~Zeros() { ::munmap(bytes_, size_); }
  std::string_view view() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  std::size_t size_;
  void* bytes_;
};

}  // namespace

TEST_CASE("zip: what is written is read, aligned where that is asked for") {
  std::string bytes;
  wire::ZipWriter writer(into(bytes));
  REQUIRE(writer.add("a", "first").ok());
  REQUIRE(writer.add("folder/b", std::vector<std::string_view>{"se", "", "cond"}, 64).ok());
  REQUIRE(writer.add("empty", std::vector<std::string_view>{}, 64).ok());
  REQUIRE(writer.finish().ok());
  const wire::ZipArchive archive = opened(bytes);
  REQUIRE(archive.entries().size() == 3);
  CHECK(*archive.unpack(*archive.find("a"), 100) == "first");
  CHECK(*archive.unpack(*archive.find("folder/b"), 100) == "second");
  CHECK((*archive.unpack(*archive.find("empty"), 100)).empty());
  CHECK(archive.find("folder/b")->offset % 64 == 0);
  CHECK(archive.find("empty")->offset % 64 == 0);
}

TEST_CASE("zip: an archive without entries, one with more than 65,535, and a name that is too long") {
  std::string bytes;
  wire::ZipWriter none(into(bytes));
  REQUIRE(none.finish().ok());
  CHECK(opened(bytes).entries().empty());

  bytes.clear();
  wire::ZipWriter many(into(bytes));
  constexpr int count = 65'600;
  for (int i = 0; i < count; ++i) REQUIRE(many.add(std::to_string(i), "x").ok());
  REQUIRE(many.finish().ok());
  const wire::ZipArchive archive = opened(bytes);
  CHECK(archive.entries().size() == count);
  CHECK(archive.entries().back().name == std::to_string(count - 1));

  bytes.clear();
  wire::ZipWriter longer(into(bytes));
  CHECK_FALSE(longer.add(std::string(70'000, 'n'), "x").ok());
}

TEST_CASE("zip: an error of the sink ends the writing") {
  wire::ZipWriter writer([](std::string_view) -> Result<void> { return make_error("cannot-write", "full"); });
  CHECK_FALSE(writer.add("a", "first").ok());
  CHECK_FALSE(writer.finish().ok());
}

TEST_CASE("zip: entries beyond 4 GiB, and behind such") {
  const TempFolder folder;
  constexpr std::uint64_t size = (std::uint64_t{4} << 30) + 4096;
  {
    const Zeros zeros(size);
    SparseFile file(folder / "large.zip");
    wire::ZipWriter writer([&](std::string_view bytes) { return file.write(bytes); });
    REQUIRE(writer.add("first", "begin").ok());
    REQUIRE(writer.add("large", std::vector<std::string_view>{zeros.view()}, 64).ok());
    REQUIRE(writer.add("last", std::vector<std::string_view>{"end"}, 64).ok());
    REQUIRE(writer.finish().ok());
  }
  const auto file = MappedFile::open(folder / "large.zip");
  REQUIRE(file.ok());
  const auto archive = wire::ZipArchive::open(*file);
  REQUIRE(archive.ok());
  REQUIRE(archive->entries().size() == 3);
  CHECK(archive->find("large")->size == size);
  CHECK(archive->find("large")->is_stored);
  CHECK(archive->find("last")->offset > size);
  CHECK(archive->find("last")->offset % 64 == 0);
  CHECK(*archive->unpack(*archive->find("first"), 100) == "begin");
  CHECK(*archive->unpack(*archive->find("last"), 100) == "end");
}

}  // namespace onnxkit::tests::wire_zip_writer
