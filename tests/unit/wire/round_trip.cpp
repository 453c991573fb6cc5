// bytes -> IR -> bytes, judged by libprotobuf.
#include <doctest/doctest.h>
#include <google/protobuf/util/message_differencer.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "onnx.pb.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wire/fill.h"

namespace onnxkit::tests::wire_round_trip {
namespace {

std::string rewritten(const std::string& bytes) {
  const auto model = wire::read_binary(MappedFile::from_bytes(bytes));
  REQUIRE_MESSAGE(model.ok(), model.error().diagnostic.message);
  CHECK(wire::encoded_size(*model) == wire::to_bytes(*model).size());
  return wire::to_bytes(*model);
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto proto;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  REQUIRE(proto.ParsePartialFromCodedStream(&stream));
  return proto;
}

/// Deterministic encoding: equal bytes mean equal messages, unknown fields included.
bool same(const std::string& a, const std::string& b) {
  return google::protobuf::util::MessageDifferencer::Equals(parsed(a), parsed(b)) &&
         parsed(a).SerializeAsString() == parsed(b).SerializeAsString();
}

}  // namespace

TEST_CASE("models of many exporters come back as they were, byte for byte where protobuf wrote them") {
  int models = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ONNXKIT_TESTDATA "/models")) {
    if (entry.path().extension() != ".onnx") continue;
    CAPTURE(entry.path().filename());
    const std::string bytes = get_file(entry.path());
    const std::string again = rewritten(bytes);
    CHECK(same(bytes, again));
    CHECK(again == parsed(bytes).SerializeAsString());
    ++models;
  }
  CHECK(models >= 20);
}

TEST_CASE("every field of the schema survives") {
  for (std::uint32_t start = 0; start < 24; ++start) {
    CAPTURE(start);
    onnx::ModelProto proto;
    std::uint32_t seed = start;
    fill(proto, 4, seed);
    const std::string bytes = proto.SerializeAsString();
    CHECK(rewritten(bytes) == bytes);
  }
}

TEST_CASE("type alternatives of any depth survive") {
  for (std::uint32_t start = 0; start < 60; ++start) {
    CAPTURE(start);
    onnx::ModelProto proto;
    auto* info = proto.mutable_graph()->add_value_info();
    info->set_name("x");
    std::uint32_t seed = start;
    fill(*info->mutable_type(), 8, seed);
    const std::string bytes = proto.SerializeAsString();
    CHECK(rewritten(bytes) == bytes);
  }
}

TEST_CASE("unknown fields survive at every level") {
  onnx::ModelProto proto;
  std::uint32_t seed = 5;
  fill(proto, 3, seed);
  const std::function<void(google::protobuf::Message&)> add_unknown = [&](google::protobuf::Message& message) {
    const auto* reflection = message.GetReflection();
    auto* unknown = reflection->MutableUnknownFields(&message);
    unknown->AddVarint(1000, 7);
    unknown->AddFixed32(1001, 8);
    unknown->AddFixed64(1002, 9);
    unknown->AddLengthDelimited(1003, "text");
    unknown->AddGroup(1004)->AddVarint(1, 1);
    std::vector<const google::protobuf::FieldDescriptor*> set;
    reflection->ListFields(message, &set);
    for (const auto* field : set) {
      if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) add_unknown(*reflection->MutableMessage(&message, field));
      for (int i = 0; field->is_repeated() && i < reflection->FieldSize(message, field); ++i) {
        add_unknown(*reflection->MutableRepeatedMessage(&message, field, i));
      }
    }
  };
  add_unknown(proto);
  const std::string bytes = proto.SerializeAsString();
  CHECK(rewritten(bytes) == bytes);
}

TEST_CASE("what protobuf reads from unusual encodings, we read too") {
  using namespace std::string_literals;
  const std::pair<std::string, std::string> cases[] = {
      {"last scalar wins", "\x08\x01\x08\x07"s},
      {"graphs are merged",
       "\x3a\x04\x12\x02g1\x3a\x06\x12\x01g\x52\x01"
       "d"s},
      {"known field of another wire type", "\x0d\x01\x02\x03\x04\x10\x05\x08\x07"s},
      {"dims packed", "\x3a\x06\x2a\x04\x0a\x02\x05\x06"s},
      {"int64_data unpacked and packed", "\x3a\x0a\x2a\x08\x38\x01\x38\x02\x3a\x02\x03\x04"s},
      {"float_data unpacked", "\x3a\x07\x2a\x05\x25\x01\x02\x03\x04"s},
      {"both alternatives of a dimension, the text last",
       "\x3a\x11\x5a\x0f\x12\x0d\x0a\x0b\x12\x09\x0a\x07\x08\x05\x12\x03sym"s},
      {"both alternatives of a dimension, the number last",
       "\x3a\x11\x5a\x0f\x12\x0d\x0a\x0b\x12\x09\x0a\x07\x12\x03sym\x08\x05"s},
      {"two kinds of type", "\x3a\x0a\x5a\x08\x12\x06\x0a\x02\x08\x01\x22\x00"s},
      {"one kind of type twice", "\x3a\x0c\x5a\x0a\x12\x08\x0a\x02\x08\x01\x0a\x02\x12\x00"s},
      {"two payloads of an attribute", "\x3a\x09\x0a\x07\x2a\x05\x18\x01\x22\x01s"s},
      {"unknown fields between known ones", "\xf8\x3e\x01\x08\x07\xf8\x3e\x02\x12\x01p\xf8\x3e\x03"s},
      {"eleven-bit tag written long", "\x88\x80\x00\x07"s},
      {"negative 32-bit number in ten bytes", "\x3a\x0d\x2a\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s},
      {"32-bit number with high bits", "\x3a\x08\x2a\x06\x10\x81\x80\x80\x80\x10"s},
  };
  for (const auto& entry : cases) {
    CAPTURE(entry.first);
    CHECK(same(entry.second, rewritten(entry.second)));
  }
}

}  // namespace onnxkit::tests::wire_round_trip
