#include "libonnxkit/wire/binary/reader.h"

#include <doctest/doctest.h>

#include "libonnxkit/base/system/mapped_file.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wire/encode.h"

namespace onnxkit::tests::wire_reader {

using namespace std::string_literals;

namespace {

Result<ir::Model> read(const std::string& bytes) { return wire::read_binary(MappedFile::from_bytes(bytes), "m.onnx"); }

/// "code: place @offset" of the error, "" without one.
std::string fault(const std::string& bytes) {
  const auto model = read(bytes);
  if (model) return "";
  const Diagnostic& d = model.error().diagnostic;
  CHECK(d.location.file == "m.onnx");
  CHECK_FALSE(d.message.empty());
  std::string location;
  for (const std::string& step : d.location.scope) location += (location.empty() ? "" : " / ") + step;
  return d.code + ": " + location + (d.location.byte_offset ? " @" + std::to_string(*d.location.byte_offset) : "");
}

const std::string version = "\x08\x0a";  // ir_version: 10

}  // namespace

TEST_CASE("faults name the message and the byte") {
  const std::string bad_attribute =
      field(7, field(1, field(1, "x") + field(5, "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s)));
  CHECK(fault(version + bad_attribute) == "malformed-protobuf: main / node 0 / attribute 0 @12");
  const std::string long_name = field(7, field(1, field(1, "x")) + field(1, "\x0a\x05x"s));
  CHECK(fault(version + long_name) == "malformed-protobuf: main / node 1 @12");
  const std::string in_function = field(25, field(1, "f") + field(7, "\x0f"s));
  CHECK(fault(version + in_function) == "malformed-protobuf: functions 0 / node 0 @10");
  CHECK(fault(version + field(7, field(5, field(4, "abc")))) == "malformed-protobuf: main / initializer 0 @11");
  CHECK(fault(version + field(7, field(5, field(7, "\x80"s)))) == "malformed-protobuf: main / initializer 0 @9");
  CHECK(fault(version + "\x3a\x05\x0a\x01") == "truncated-file:  @3");
  CHECK(fault(version + "\x28") == "truncated-file:  @3");
  CHECK(fault(version + "\x0c") == "malformed-protobuf:  @3");
  CHECK(fault(version + "\x0b\x14") == "malformed-protobuf:  @4");
  CHECK(fault("") == "empty-file: ");
}

TEST_CASE("a model without a graph is a model") {
  const auto model = read(version);
  REQUIRE(model.ok());
  CHECK(model->graph == nullptr);
  CHECK(model->ir_version == 10);
  CHECK(model->path == "m.onnx");
}

TEST_CASE("other messages of the schema are told apart from a model") {
  const std::string tensor = "\x08\x02\x10\x01"s + field(9, std::string(8, '\0')) + field(8, "x");
  const std::string graph = field(1, field(4, "Relu")) + field(2, "g");
  const std::pair<std::string, std::string> cases[] = {
      {tensor, "TensorProto"},
      {graph, "GraphProto"},
      {std::string(64, '\xff'), "an unknown format"},
  };
  for (const auto& one : cases) {
    const std::string guess = one.second;
    CAPTURE(guess);
    const auto model = read(one.first);
    REQUIRE_FALSE(model.ok());
    CHECK(model.error().diagnostic.code == "not-onnx");
    CHECK(model.error().diagnostic.message.find(guess) != std::string::npos);
  }
}

TEST_CASE("invalid UTF-8 is kept") {
  const auto model = read(version + field(7, field(2, "\xff\xfe")));
  REQUIRE(model.ok());
  CHECK(model->graph->name == "\xff\xfe");
}

TEST_CASE("messages nest a hundred deep and no deeper") {
  const auto nested = [](int levels) {  // of graph / node / attribute
    std::string graph;
    for (int i = 0; i < levels; ++i) graph = field(1, field(5, field(6, graph)));
    return version + field(7, graph);
  };
  CHECK(fault(nested(33)) == "");
  CHECK(fault(nested(34)).starts_with("nesting-depth: main / node 0 / attribute 0 / g / node 0"));
  CHECK(fault(nested(2000)).starts_with("nesting-depth"));
  CHECK(fault(version + std::string(1'000'000, '\x0b')).starts_with("nesting-depth"));
}

TEST_CASE("a file cannot ask for much more memory than it has bytes") {
  const auto many = [](std::uint32_t number) {
    std::string bytes;
    for (int i = 0; i < 500'000; ++i) bytes += field(number, "");
    return bytes;
  };
  CHECK(fault(version + field(7, many(1))).starts_with("malformed-protobuf: main"));
  CHECK(fault(version + field(7, many(5))).starts_with("malformed-protobuf: main"));
  CHECK(fault(version + field(7, field(1, many(5)))).starts_with("malformed-protobuf: main / node 0"));
  CHECK(fault(version + many(25)).starts_with("malformed-protobuf"));
  CHECK(fault(version + many(8)) == "");
}

TEST_CASE("every beginning of a model is an error or a smaller model") {
  for (const char* name :
       {"rnn/gru_opset11", "functions/modules_as_functions_opset15", "odd/container_oddities_opset12"}) {
    CAPTURE(std::string(name));
    const std::string bytes = get_file(std::string(ONNXKIT_TESTDATA "/models/") + name + ".onnx");
    REQUIRE(bytes.size() > 100);
    for (std::size_t size = 1; size < bytes.size(); ++size) {
      const auto model = read(bytes.substr(0, size));
      if (!model) CHECK(model.error().diagnostic.code == "truncated-file");
    }
  }
}

}  // namespace onnxkit::tests::wire_reader
