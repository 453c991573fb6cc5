// Compiled kernels on disk (libonnxkit/cuda/code_cache.cpp).
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "libonnxkit/cuda/kernels.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::code_cache {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kilobyte = 1024;

std::string code_of(char letter) { return std::string(kilobyte, letter); }

/// As a code that was used so many hours ago.
void keep_aged(const cuda::CodeCache& cache, const fs::path& folder, const char* key, int hours) {
  std::set<fs::path> known;
  for (const auto& entry : fs::directory_iterator(folder)) known.insert(entry.path());
  REQUIRE(cache.keep(key, code_of(*key)));
  for (const auto& entry : fs::directory_iterator(folder))
    if (!known.contains(entry.path()))
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

TEST_CASE("codes that were not used for longest go where all take more than they may") {
  const TempFolder folder;
  const cuda::CodeCache cache(folder.path().string(), 3 * kilobyte + kilobyte / 2);
  keep_aged(cache, folder.path(), "a", 3);
  keep_aged(cache, folder.path(), "b", 2);
  keep_aged(cache, folder.path(), "c", 1);
  CHECK(cache.find("a") == code_of('a'));  // so "b" is the oldest now
  put_file(folder.path() / "notes.code", std::string(4 * kilobyte, 'x'));
  REQUIRE(cache.keep("d", code_of('d')));
  CHECK(cache.find("a") == code_of('a'));
  CHECK_FALSE(cache.find("b"));
  CHECK(cache.find("c") == code_of('c'));
  CHECK(cache.find("d") == code_of('d'));
  CHECK(fs::exists(folder.path() / "notes.code"));
}

TEST_CASE("a code that alone takes more than all may is kept") {
  const TempFolder folder;
  const cuda::CodeCache cache(folder.path().string(), kilobyte / 2);
  REQUIRE(cache.keep("a", code_of('a')));
  CHECK(cache.find("a") == code_of('a'));
  REQUIRE(cache.keep("b", code_of('b')));
  CHECK_FALSE(cache.find("a"));
  CHECK(cache.find("b") == code_of('b'));
}

TEST_CASE("a cache that cannot be written names its folder") {
  const TempFolder folder;
  const fs::path file = folder.path() / "file";
  put_file(file, "no folder");
  const auto kept = cuda::CodeCache(file.string()).keep("a", code_of('a'));
  REQUIRE_FALSE(kept);
  CHECK(kept.error().diagnostic.code == "cannot-write");
  CHECK(kept.error().diagnostic.message.starts_with('"' + file.string() + '"'));
  const auto below = cuda::CodeCache((file / "folder").string()).keep("a", code_of('a'));
  REQUIRE_FALSE(below);
  CHECK(below.error().diagnostic.message.find((file / "folder").string()) != std::string::npos);
}

}  // namespace
}  // namespace onnxkit::tests::code_cache
