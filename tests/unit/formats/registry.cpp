#include "libonnxkit/formats/frame/registry.h"

#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "libonnxkit/formats/frame/load.h"
#include "libonnxkit/formats/frame/save.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::formats_registry {

using namespace std::string_literals;

namespace {

formats::Source memory(std::string bytes, const std::string& name = "m") {
  return {.path = name, .file = MappedFile::from_bytes(std::move(bytes))};
}

std::string chosen(std::string bytes, const std::string& name) {
  return formats::registry().to_read(memory(std::move(bytes), name))->name;
}

std::string written_as(const std::string& name) {
  const formats::Format* format = formats::registry().to_write(name);
  return format ? format->name : "";
}

const std::string text_model = "<ir_version: 8, opset_import: [\"\": 13]>\ng (float x) => (float y) { y = Relu(x) }";

}  // namespace

TEST_CASE("formats: content that is no model is named") {
  const std::pair<std::string, std::string> cases[] = {
      {"<ir_version: 8> agraph () => () {}", "text"},
      {"{\"irVersion\": \"8\"}", "JSON"},
      {"hello", "text"},
      {"PK\x03\x04rest", "zip"},
      {std::string(257, 'x') + "ustar", "tar"},
      {"\x89HDF\r\n\x1a\n", "HDF5"},
      {"\xff\xd8\xff\xe0", "JPEG"},
      {"\x1c\0\0\0TFL3more"s, "TensorFlow Lite"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"},
      {"<!DOCTYPE html><html></html>", "web page"},
      {std::string(5000, '\0'), "begins with zeros"},
      {std::string(64, '\xff'), "an unknown format"},
  };
  for (const auto& one : cases) {
    const std::string &bytes = one.first, &title = one.second;
    CAPTURE(title);
    ReadReport report;
    const auto model = formats::load_model(memory(bytes), {.format = "binary"}, report);
    REQUIRE_FALSE(model.ok());
    CHECK(model.error().diagnostic.code == "not-onnx");
    CHECK(model.error().diagnostic.message.find(title) != std::string::npos);
  }
}

TEST_CASE("formats: a name outweighs how text begins, content decides what the name leaves open") {
  CHECK(chosen(text_model, "m.onnx") == "text");
  CHECK(chosen(text_model, "m.onnxtxt") == "text");
  CHECK(chosen(text_model, "m.json") == "json");
  CHECK(chosen("{\"graph\": {}}", "m.onnxtxt") == "text");
  CHECK(chosen("{\"graph\": {}}", "m") == "json");
  CHECK(chosen("# nothing\n", "m.onnxtxt") == "text");
  CHECK(chosen("\x08\x07", "m.pb") == "binary");
  CHECK(chosen("\x08\x07", "m.tflite") == "binary");
  CHECK(chosen("", "m.onnxtxt") == "binary");
  CHECK(chosen("PK\x03\x04", "m.zip") == "binary");
}

TEST_CASE("formats: what is written goes by the extension, and names of other formats are refused") {
  CHECK(written_as("m.onnx") == "binary");
  CHECK(written_as("m.pb") == "binary");
  CHECK(written_as("folder.d/m") == "binary");
  CHECK(written_as("/dev/fd/63") == "binary");
  CHECK(written_as("m.onnxtxt") == "text");
  CHECK(written_as("m.json") == "json");
  CHECK(written_as("m.onnxjson") == "json");
  CHECK(written_as("m.tflite") == "tflite");
  CHECK(written_as("m.h5").empty());
  CHECK(written_as("m.onnx.bak").empty());
  const auto refused = formats::output_format("m.h5", "");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().diagnostic.code == "unsupported-format");
  CHECK(refused.error().diagnostic.expected == formats::registry().writable());
  const auto chosen_by_name = formats::output_format("m.h5", "binary");
  REQUIRE(chosen_by_name.ok());
  CHECK((*chosen_by_name)->name == "binary");
  CHECK(formats::output_format("m.onnx", "caffe2").error().diagnostic.code == "unsupported-format");
}

TEST_CASE("formats: a model is saved over itself whatever its name") {
  const TempFolder folder;
  const auto path = folder / "model.bak";
  ReadReport report;
  auto model = formats::load_model(memory(text_model), {}, report);
  REQUIRE(model.ok());
  CHECK_FALSE(formats::save_model(*model, path, {}).ok());
  REQUIRE(formats::save_model(*model, path, {.format = "binary"}).ok());
  const auto source = formats::open_source(path);
  REQUIRE(source.ok());
  model = formats::load_model(*source, {}, report);
  REQUIRE(model.ok());
  CHECK(report.format == "binary");
  CHECK(formats::save_model(*model, path, {}).ok());
}

TEST_CASE("formats: folders are recognised by what is in them, and not read as files") {
  const auto fault = [](const TempFolder& folder) {
    ReadReport report;
    const auto source = formats::open_source(folder / ".");
    REQUIRE(source.ok());
    return formats::load_model(*source, {}, report).error().diagnostic.code;
  };
  const TempFolder saved, caffe2;
  CHECK(formats::registry().of_path(saved / ".") == nullptr);
  CHECK(fault(saved) == "cannot-read");
  std::ofstream(saved / "saved_model.pb") << "x";
  CHECK(formats::registry().of_path(saved / ".")->name == "saved-model");
  CHECK(fault(saved) == "malformed-model");
  std::ofstream(caffe2 / "init_net.pb") << "x";
  CHECK(formats::registry().of_path(caffe2 / ".")->name == "caffe2");
  CHECK(fault(caffe2) == "cannot-read");
}

TEST_CASE("formats: every format can be told from the others") {
  std::set<std::string> names, extensions;
  for (const formats::Format& format : formats::registry().formats()) {
    CAPTURE(format.title);
    CHECK_FALSE(format.title.empty());
    CHECK((format.name.empty() || names.insert(format.name).second));
    for (const std::string& extension : format.extensions) CHECK(extensions.insert(extension).second);
    CHECK_FALSE((format.encode && format.write));
    CHECK((format.read == nullptr || format.detect || format.name == "binary"));
  }
}

TEST_CASE("formats: a format brings its reader, its writer and its findings") {
  formats::Registry registry;
  registry.add({.name = "echo",
                .title = "an echo",
                .extensions = {".echo"},
                .is_folder = true,
                .detect = [](const formats::Source&) { return formats::Match::certain; },
                .read = [](const formats::Source&, const ReadOptions&, ReadReport& report) -> Result<ir::Model> {
                  report.diagnostics.emplace_back().code = "unsupported-operator";
                  return make_error(ErrorKind::unsupported, "unsupported-operator", "one operator is unknown");
                },
                .write = [](const ir::Model&, const std::filesystem::path&, const SaveOptions&,
                            SaveReport&) -> Result<void> { return {}; }});
  const formats::Source source{.path = "folder", .file = nullptr};
  const formats::Format* format = registry.to_read(source);
  REQUIRE(format != nullptr);
  ReadReport report;
  CHECK_FALSE(format->read(source, {}, report).ok());
  CHECK(report.diagnostics.size() == 1);
  CHECK(registry.to_write("x.echo") == format);
  CHECK(registry.writable() == "echo (.echo)");
  CHECK(registry.to_read(memory("bytes")) == nullptr);
}

}  // namespace onnxkit::tests::formats_registry
