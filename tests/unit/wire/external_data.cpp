#include "libonnxkit/wire/external/external_data.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::wire_external_data {

namespace fs = std::filesystem;

namespace {

using Entries = std::vector<std::pair<const char*, const char*>>;

ir::Tensor six_floats(const Entries& entries) {
  ir::Tensor tensor;
  tensor.name = "w";
  tensor.data_type = 1;
  tensor.dims = {2, 3};
  tensor.data_location = ir::Tensor::location_external;
  for (const auto& [key, value] : entries)
    tensor.external_data.push_back({.key = key, .value = value, .unknown_fields = {}});
  return tensor;
}

/// "" for success, else the code.
std::string outcome(const fs::path& model, const Entries& entries, wire::ExternalDataOptions options = {}) {
  wire::ExternalData data(model, options);
  const auto bytes = data.bytes(six_floats(entries));
  if (bytes) CHECK(bytes->size() == 24);
  return bytes ? "" : bytes.error().diagnostic.code;
}

}  // namespace

TEST_CASE("external data: each fault has its code") {
  const TempFolder folder;
  const fs::path model = folder / "m/model.onnx";
  put_file(model, "model");
  put_file(folder / "m/w.bin", std::string(64, 'w'));
  put_file(folder / "m/sub/w.bin", std::string(24, 'w'));
  put_file(folder / "m/empty.bin", "");
  put_file(folder / "outside.bin", std::string(24, 'o'));
  fs::create_symlink("../outside.bin", folder / "m/link-out.bin");
  fs::create_symlink("w.bin", folder / "m/link-in.bin");
  fs::create_symlink("..", folder / "m/up");
  fs::create_symlink("nowhere", folder / "m/dangling.bin");
  put_file(folder / "m/hard.bin", std::string(24, 'h'));
  fs::create_hard_link(folder / "m/hard.bin", folder / "other-name.bin");
  const std::string absolute = (folder / "m/w.bin").string();

  struct Case {
    Entries entries;
    std::string code;
    bool allowed_outside = false;  ///< whether --allow-outside-data mends it
  };
  const Case cases[] = {
      {{{"location", "w.bin"}}, ""},
      {{{"location", "w.bin"}, {"offset", "40"}, {"length", "24"}}, ""},
      {{{"location", "sub/w.bin"}}, ""},
      {{{"location", "sub/../w.bin"}}, ""},
      {{{"location", "link-in.bin"}}, ""},
      {{{"location", "w.bin"}, {"basepath", "elsewhere"}, {"colour", "red"}}, ""},
      {{}, "external-location"},
      {{{"location", ""}}, "external-location"},
      {{{"location", absolute.c_str()}}, "external-location", true},
      {{{"location", "../outside.bin"}}, "external-location", true},
      {{{"location", "sub/../../outside.bin"}}, "external-location", true},
      {{{"location", "up/outside.bin"}}, "external-location", true},
      {{{"location", "link-out.bin"}}, "external-location", true},
      {{{"location", "hard.bin"}}, "external-location", true},
      {{{"location", "lost.bin"}}, "external-missing"},
      {{{"location", "no/such/folder.bin"}}, "external-missing"},
      {{{"location", "dangling.bin"}}, "external-missing"},
      {{{"location", "sub"}}, "external-missing"},
      {{{"location", "/dev/zero"}}, "external-location"},
      {{{"location", "w.bin"}, {"location", "w.bin"}}, "external-key"},
      {{{"location", "w.bin"}, {"offset", "0"}, {"offset", "8"}}, "external-key"},
      {{{"location", "w.bin"}, {"offset", "-8"}}, "external-range"},
      {{{"location", "w.bin"}, {"offset", ""}}, "external-range"},
      {{{"location", "w.bin"}, {"offset", "0x10"}}, "external-range"},
      {{{"location", "w.bin"}, {"offset", "18446744073709551616"}}, "external-range"},
      {{{"location", "w.bin"}, {"length", "24 "}}, "external-range"},
      {{{"location", "w.bin"}, {"offset", "41"}, {"length", "24"}}, "external-range"},
      {{{"location", "w.bin"}, {"offset", "41"}}, "external-range"},
      {{{"location", "w.bin"}, {"offset", "9223372036854775807"}, {"length", "24"}}, "external-range"},
      {{{"location", "empty.bin"}}, "external-range"},
      {{{"location", "w.bin"}, {"length", "20"}}, "external-size"},
      {{{"location", "w.bin"}, {"length", "32"}}, "external-size"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.entries.size());
    CAPTURE(std::string(c.entries.empty() ? "" : c.entries.back().second));
    CHECK(outcome(model, c.entries) == c.code);
    if (c.allowed_outside) CHECK(outcome(model, c.entries, {.allow_outside = true}) == "");
  }
  CHECK(outcome(model, {{"location", "/dev/zero"}}, {.allow_outside = true}) == "external-missing");
  CHECK(outcome("", {{"location", "w.bin"}}) == "external-missing");
}

TEST_CASE("external data: tensors without elements need an offset inside the file and no more") {
  const TempFolder folder;
  put_file(folder / "w.bin", "abc");
  put_file(folder / "empty.bin", "");
  struct Case {
    const char *location, *offset;
    bool ok;
  };
  for (const Case& item : {Case{"w.bin", "3", true}, Case{"w.bin", "4", false}, Case{"empty.bin", "0", true}}) {
    CAPTURE(std::string(item.offset));
    ir::Tensor tensor = six_floats({{"location", item.location}, {"offset", item.offset}, {"length", "0"}});
    tensor.dims = {0, 5};
    wire::ExternalData data(folder / "model.onnx");
    const auto bytes = data.bytes(tensor);
    CHECK(bytes.ok() == item.ok);
    if (bytes) CHECK(bytes->empty());
  }
}

TEST_CASE("external data: the checksum is that of the whole file") {
  const TempFolder folder;
  put_file(folder / "w.bin", std::string(24, 'w') + "tail");
  const Entries good = {{"location", "w.bin"}, {"checksum", "4FEDDE3951549E8D1415AA73F5F3F2B893788032"}};
  const Entries bad = {{"location", "w.bin"}, {"checksum", "0000000000000000000000000000000000000000"}};
  CHECK(outcome(folder / "m.onnx", bad) == "");
  CHECK(outcome(folder / "m.onnx", good, {.verify_checksums = true}) == "");
  CHECK(outcome(folder / "m.onnx", bad, {.verify_checksums = true}) == "external-checksum");
}

TEST_CASE("external data: a Hugging Face cache needs no permission") {
  const TempFolder folder;
  const fs::path repository = folder / "models--org--name";
  put_file(repository / "blobs/1111", "model");
  put_file(repository / "blobs/2222", std::string(24, 'w'));
  put_file(repository / "secret", std::string(24, 's'));
  fs::create_directories(repository / "snapshots/abc/onnx");
  fs::create_symlink("../../blobs/1111", repository / "snapshots/abc/model.onnx");
  fs::create_symlink("../../blobs/2222", repository / "snapshots/abc/model.onnx_data");
  fs::create_symlink("../../../blobs/1111", repository / "snapshots/abc/onnx/model.onnx");
  fs::create_symlink("../../../blobs/2222", repository / "snapshots/abc/onnx/model.onnx_data");
  fs::create_symlink("../../secret", repository / "snapshots/abc/stolen");
  fs::create_symlink("../../blobs", repository / "snapshots/abc/all-blobs");
  CHECK(outcome(repository / "snapshots/abc/model.onnx", {{"location", "model.onnx_data"}}) == "");
  CHECK(outcome(repository / "snapshots/abc/onnx/model.onnx", {{"location", "model.onnx_data"}}) == "");
  CHECK(outcome(repository / "snapshots/abc/model.onnx", {{"location", "stolen"}}) == "external-location");
  CHECK(outcome(repository / "snapshots/abc/model.onnx", {{"location", "all-blobs/2222"}}) == "external-location");

  fs::create_directories(repository / "elsewhere");
  fs::create_symlink("../blobs/2222", repository / "elsewhere/model.onnx_data");
  CHECK(outcome(repository / "elsewhere/model.onnx", {{"location", "model.onnx_data"}}) == "external-location");
}

TEST_CASE("external data: blobs and snapshots of a cache are folders, not links") {
  const TempFolder folder;
  const Entries stolen = {{"location", "w.bin"}};
  put_file(folder / "keys/key", std::string(24, 's'));
  const fs::path linked_blobs = folder / "a";
  put_file(linked_blobs / "snapshots/main/model.onnx", "model");
  fs::create_symlink("../keys", linked_blobs / "blobs");
  fs::create_symlink("../../blobs/key", linked_blobs / "snapshots/main/w.bin");
  CHECK(outcome(linked_blobs / "snapshots/main/model.onnx", stolen) == "external-location");

  const fs::path linked_key = folder / "b";
  put_file(linked_key / "snapshots/main/model.onnx", "model");
  fs::create_directories(linked_key / "blobs");
  fs::create_symlink("../../keys/key", linked_key / "blobs/key");
  fs::create_symlink("../../blobs/key", linked_key / "snapshots/main/w.bin");
  CHECK(outcome(linked_key / "snapshots/main/model.onnx", stolen) == "external-location");

  const fs::path linked_snapshots = folder / "c";
  put_file(folder / "d/snapshots/main/model.onnx", "model");
  put_file(folder / "d/blobs/key", std::string(24, 's'));
  fs::create_symlink("../../blobs/key", folder / "d/snapshots/main/w.bin");
  fs::create_directories(linked_snapshots);
  fs::create_symlink("../d/snapshots", linked_snapshots / "snapshots");
  CHECK(outcome(folder / "d/snapshots/main/model.onnx", stolen) == "");
  CHECK(outcome(linked_snapshots / "snapshots/main/model.onnx", stolen) == "external-location");
}

TEST_CASE("external data: a file that is exchanged while it is opened is never one from elsewhere") {
  const TempFolder folder;
  put_file(folder / "outside.bin", std::string(24, 's'));
  put_file(folder / "m/w.bin", std::string(24, 'w'));
  put_file(folder / "m/sub/w.bin", std::string(24, 'w'));
  put_file(folder / "elsewhere/w.bin", std::string(24, 's'));
  std::atomic<bool> over = false;
  const std::jthread swapper([&] {
    std::error_code ignored;
    while (!over) {
      fs::create_symlink("../outside.bin", folder / "m/next", ignored);
      fs::rename(folder / "m/next", folder / "m/w.bin", ignored);
      put_file(folder / "m/next", std::string(24, 'w'));
      fs::rename(folder / "m/next", folder / "m/w.bin", ignored);
      fs::rename(folder / "m/sub", folder / "m/kept", ignored);
      fs::create_symlink("../elsewhere", folder / "m/sub", ignored);
      fs::remove(folder / "m/sub", ignored);
      fs::rename(folder / "m/kept", folder / "m/sub", ignored);
    }
  });
  std::size_t read = 0, stolen = 0;
  for (int i = 0; i < 4000; ++i) {
    wire::ExternalData data(folder / "m/model.onnx");
    const auto bytes = data.bytes(six_floats({{"location", i % 2 == 0 ? "w.bin" : "sub/w.bin"}}));
    if (!bytes) continue;
    ++read;
    stolen += bytes->front() == std::byte{'s'};
  }
  over = true;
  CHECK(read > 0);
  CHECK(stolen == 0);
}

TEST_CASE("external data: a link to a model finds what lies beside the model") {
  const TempFolder folder;
  put_file(folder / "store/model.onnx", "model");
  put_file(folder / "store/w.bin", std::string(24, 'w'));
  put_file(folder / "outside.bin", std::string(24, 'o'));
  fs::create_symlink("../outside.bin", folder / "store/stolen.bin");
  fs::create_directories(folder / "work");
  fs::create_symlink("../store/model.onnx", folder / "work/model.onnx");
  CHECK(outcome(folder / "work/model.onnx", {{"location", "w.bin"}}) == "");
  CHECK(outcome(folder / "work/model.onnx", {{"location", "stolen.bin"}}) == "external-location");
}

}  // namespace onnxkit::tests::wire_external_data
