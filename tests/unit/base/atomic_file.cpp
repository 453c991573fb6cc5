#include "libonnxkit/base/system/atomic_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "libonnxkit/base/system/mapped_file.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::base_atomic_file {

namespace fs = std::filesystem;

namespace {

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a file that is not published leaves nothing") {
  const TempFolder folder;
  put_file(folder / "out", "old");
  {
    auto file = AtomicFile::create(folder / "out");
    REQUIRE(file.ok());
    REQUIRE(file->write("new").ok());
    REQUIRE(file->sync().ok());
    CHECK(entries_in(folder.path()) == 1);  // nothing that could stay when the process is killed
    REQUIRE(file->appear().ok());
    CHECK(get_file(file->hidden_path()) == "new");
    CHECK(entries_in(folder.path()) == 2);
    CHECK(get_file(folder / "out") == "old");
  }
  CHECK(get_file(folder / "out") == "old");
  CHECK(entries_in(folder.path()) == 1);
}

TEST_CASE("a published file replaces the old one and keeps its permissions") {
  const TempFolder folder;
  put_file(folder / "out", "old");
  fs::permissions(folder / "out", static_cast<fs::perms>(0640));
  CHECK(replace_file(folder / "out", "new").ok());
  CHECK(get_file(folder / "out") == "new");
  CHECK(fs::status(folder / "out").permissions() == static_cast<fs::perms>(0640));
  CHECK(entries_in(folder.path()) == 1);

  const mode_t mask = ::umask(0027);
  CHECK(replace_file(folder / "fresh", "new").ok());
  ::umask(mask);
  CHECK(fs::status(folder / "fresh").permissions() == static_cast<fs::perms>(0640));
}

TEST_CASE("a mapping of the replaced file stays as it was") {
  const TempFolder folder;
  put_file(folder / "out", "old");
  const auto mapped = MappedFile::open(folder / "out");
  REQUIRE(mapped.ok());
  CHECK(replace_file(folder / "out", (*mapped)->view()).ok());
  CHECK(replace_file(folder / "out", "new").ok());
  CHECK((*mapped)->view() == "old");
}

TEST_CASE("links are followed, devices written directly") {
  const TempFolder folder;
  put_file(folder / "store/real", "old");
  fs::create_symlink("store/real", folder / "link");
  fs::create_symlink("store/fresh", folder / "dangling");
  CHECK(replace_file(folder / "link", "new").ok());
  CHECK(replace_file(folder / "dangling", "made").ok());
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(get_file(folder / "store/real") == "new");
  CHECK(get_file(folder / "store/fresh") == "made");
  CHECK(replace_file("/dev/null", "gone").ok());
}

TEST_CASE("what cannot be written is an error") {
  const TempFolder folder;
  fs::create_directory(folder / "folder");
  for (const fs::path& path : {folder / "folder", folder / "no/such/folder", fs::path("/dev/full"), fs::path("")}) {
    CAPTURE(path.string());
    const auto written = replace_file(path, "x");
    REQUIRE_FALSE(written.ok());
    CHECK(written.error().diagnostic.code == "cannot-write");
  }
  CHECK(replace_file(folder / std::string(250, 'n'), "x").ok());
}

}  // namespace onnxkit::tests::base_atomic_file
