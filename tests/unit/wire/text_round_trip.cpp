// bytes -> IR -> text -> IR -> bytes, judged by libprotobuf.
#include <doctest/doctest.h>
#include <google/protobuf/util/message_differencer.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "libonnxkit/wire/text.h"
#include "onnx.pb.h"
#include "tests/unit/wire/fill.h"

namespace onnxkit::tests::wire_text_round_trip {
namespace {

std::string text_of(const onnx::ModelProto& proto) {
  const auto model = wire::read_binary(MappedFile::from_bytes(proto.SerializeAsString()));
  REQUIRE_MESSAGE(model.ok(), model.error().diagnostic.message);
  return wire::print_text(*model);
}

onnx::ModelProto parsed(const std::string& text) {
  const auto model = wire::parse_text(text, "test");
  if (!model) {
    const Diagnostic& d = model.error().diagnostic;
    FAIL(d.message << "\n" << d.notes[0] << "\n" << text.substr(0, 3000));
  }
  onnx::ModelProto proto;
  REQUIRE(proto.ParseFromString(wire::to_bytes(*model)));
  return proto;
}

/// Deterministic encoding: equal bytes mean equal messages, NaNs and unknown fields included.
void check_round_trip(const onnx::ModelProto& proto) {
  const std::string text = text_of(proto);
  const onnx::ModelProto again = parsed(text);
  if (again.SerializeAsString() == proto.SerializeAsString()) return;
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  differencer.Compare(proto, again);
  FAIL_CHECK(differences.substr(0, 2000) << "\n" << text.substr(0, 6000));
}

onnx::ModelProto proto_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::ModelProto proto;
  REQUIRE(proto.ParseFromIstream(&file));
  return proto;
}

onnx::ModelProto with_tensor(const onnx::TensorProto& tensor) {
  onnx::ModelProto proto;
  *proto.mutable_graph()->add_initializer() = tensor;
  return proto;
}

void add_unknown(google::protobuf::Message& message) {
  const auto* reflection = message.GetReflection();
  auto* unknown = reflection->MutableUnknownFields(&message);
  unknown->AddVarint(1000, 7);
  unknown->AddLengthDelimited(1003, "te\"xt");
  std::vector<const google::protobuf::FieldDescriptor*> set;
  reflection->ListFields(message, &set);
  for (const auto* field : set) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) add_unknown(*reflection->MutableMessage(&message, field));
    for (int i = 0; field->is_repeated() && i < reflection->FieldSize(message, field); ++i) {
      add_unknown(*reflection->MutableRepeatedMessage(&message, field, i));
    }
  }
}

}  // namespace

TEST_CASE("text: models of many exporters come back as they were") {
  int models = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ONNXKIT_TESTDATA "/models")) {
    if (entry.path().extension() != ".onnx") continue;
    CAPTURE(entry.path().filename());
    check_round_trip(proto_of_file(entry.path()));
    ++models;
  }
  CHECK(models >= 20);
}

TEST_CASE("text: every field of the schema survives") {
  for (std::uint32_t start = 0; start < 24; ++start) {
    CAPTURE(start);
    onnx::ModelProto proto;
    std::uint32_t seed = start;
    fill(proto, 4, seed);
    check_round_trip(proto);
    add_unknown(proto);
    check_round_trip(proto);
  }
}

TEST_CASE("text: absent and empty differ everywhere") {
  onnx::ModelProto proto;
  proto.set_domain("");
  check_round_trip(proto);
  proto.mutable_graph();
  check_round_trip(proto);
  // A message of each kind, first without fields, then with empty strings.
  std::uint32_t seed = 1;
  fill(proto, 5, seed);
  const std::function<void(google::protobuf::Message&, bool)> empty = [&](google::protobuf::Message& message,
                                                                          bool clear) {
    using google::protobuf::FieldDescriptor;
    const auto* reflection = message.GetReflection();
    std::vector<const FieldDescriptor*> set;
    reflection->ListFields(message, &set);
    for (const auto* field : set) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        if (!field->is_repeated()) empty(*reflection->MutableMessage(&message, field), clear);
        for (int i = 0; field->is_repeated() && i < reflection->FieldSize(message, field); ++i) {
          empty(*reflection->MutableRepeatedMessage(&message, field, i), clear);
        }
      } else if (!field->is_repeated() && clear) {
        reflection->ClearField(&message, field);
      } else if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        reflection->SetString(&message, field, "");
      }
    }
  };
  empty(proto, false);
  check_round_trip(proto);
  empty(proto, true);
  check_round_trip(proto);
}

TEST_CASE("text: type alternatives of any depth survive") {
  for (std::uint32_t start = 0; start < 60; ++start) {
    CAPTURE(start);
    onnx::ModelProto proto;
    auto* info = proto.mutable_graph()->add_value_info();
    info->set_name("x");
    std::uint32_t seed = start;
    fill(*info->mutable_type(), 8, seed);
    check_round_trip(proto);
    auto* attribute = proto.mutable_graph()->add_node()->add_attribute();
    attribute->set_name("t");
    *attribute->mutable_tp() = info->type();
    check_round_trip(proto);
    attribute->set_doc_string("d");
    check_round_trip(proto);
  }
}

TEST_CASE("text: tensors of every element type, raw and typed") {
  for (int type = -1; type < 35; ++type) {
    CAPTURE(type);
    onnx::TensorProto raw;
    raw.set_name("w");
    raw.set_data_type(type);
    raw.add_dims(3);
    std::string bytes;
    for (int i = 0; i < 48; ++i) bytes += static_cast<char>(i * 37 + 5);
    // 47 bytes are no whole number of wider elements.
    for (const std::size_t size : {48, 47, 0}) {
      raw.set_raw_data(bytes.substr(0, size));
      check_round_trip(with_tensor(raw));
      onnx::ModelProto both = with_tensor(raw);
      auto* tensor = both.mutable_graph()->mutable_initializer(0);
      for (const std::int32_t n : {0, 255, -1, 1 << 30, INT32_MIN}) tensor->add_int32_data(n);
      for (const std::int64_t n : {INT64_MIN, INT64_MAX, std::int64_t{-1}}) tensor->add_int64_data(n);
      for (const std::uint64_t n : {UINT64_MAX, std::uint64_t{7}}) tensor->add_uint64_data(n);
      for (const float n : {1.0f, 0.1f, 1e-45f, 3.4028235e38f, -0.0f, -INFINITY, NAN, -NAN}) tensor->add_float_data(n);
      for (const double n : {1.0, 0.1, 5e-324, -1e308, -0.0, double{INFINITY}, double{NAN}}) tensor->add_double_data(n);
      tensor->add_string_data("s");
      check_round_trip(both);
      tensor->clear_raw_data();
      check_round_trip(both);
    }
  }
}

TEST_CASE("text: NaNs keep their bits") {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fc00001u, 0xff800001u, 0x7fffffffu}) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    tensor.add_float_data(value);
  }
  onnx::ModelProto proto = with_tensor(tensor);
  auto* attribute = proto.mutable_graph()->add_node()->add_attribute();
  attribute->set_name("a");
  attribute->set_type(onnx::AttributeProto::FLOATS);
  *attribute->mutable_floats() = tensor.float_data();
  check_round_trip(proto);
}

TEST_CASE("text: strings of any bytes") {
  onnx::ModelProto proto;
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& text :
       {std::string(), std::string("a b"), std::string("\"\\\n\t\r"), std::string("caf\xe9 latin"), all,
        std::string("\0", 1), std::string("\xe2\x82\xac"), std::string("float"), std::string("nan"),
        std::string("none"), std::string("e"), std::string("x"), std::string("a.b"), std::string(".")}) {
    auto* graph = proto.mutable_graph();
    graph->set_name(text);
    graph->add_input()->set_name(text);
    auto* node = graph->add_node();
    node->add_input(text);
    node->add_output(text);
    node->set_name(text);
    node->set_op_type(text);
    node->set_domain(text);
    node->set_overload(text);
    node->set_doc_string(text);
    auto* attribute = node->add_attribute();
    attribute->set_name(text);
    attribute->set_s(text);
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute = node->add_attribute();
    attribute->set_name(text);
    attribute->set_ref_attr_name(text);
    attribute = node->add_attribute();
    attribute->mutable_g()->set_name(text);
    attribute->mutable_g()->add_value_info()->set_name(text);
    attribute->mutable_g()->add_initializer()->set_name(text);
    attribute->mutable_g()->add_sparse_initializer()->mutable_values()->set_name(text);
    attribute = node->add_attribute();
    attribute->set_name(text);
    attribute->mutable_t()->set_name(text);
    auto* dim = graph->add_output()->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
    dim->set_dim_param(text);
    dim->set_denotation(text);
    auto* opaque = graph->add_value_info()->mutable_type()->mutable_opaque_type();
    opaque->set_name(text);
    check_round_trip(proto);
    opaque->set_domain(text);
    auto* function = proto.add_functions();
    function->set_name(text);
    function->add_attribute(text);
    function->add_attribute_proto()->set_name(text);
    function->add_input(text);
    function->set_domain(text);
    proto.set_doc_string(text);
    proto.add_metadata_props()->set_key(text);
    check_round_trip(proto);
  }
}

TEST_CASE("text: raw storage is the default where most tensors have it, and marked otherwise") {
  onnx::TensorProto raw;
  raw.set_name("w");
  raw.set_data_type(onnx::TensorProto::INT8);
  raw.add_dims(2);
  raw.set_raw_data(std::string("\xff\x02", 2));
  CHECK(text_of(with_tensor(raw)).find("#@{raw_tensors}") == 0);
  CHECK(text_of(with_tensor(raw)).find("int8[2] w = {-1, 2}\n") != std::string::npos);

  onnx::ModelProto mixed = with_tensor(raw);
  raw.clear_raw_data();
  raw.add_int32_data(-1);
  for (int i = 0; i < 2; ++i) *mixed.mutable_graph()->add_initializer() = raw;
  CHECK(text_of(mixed).find("raw_tensors") == std::string::npos);
  CHECK(text_of(mixed).find("int8[2] w = {-1, 2},  #@{raw}\n") != std::string::npos);
}

}  // namespace onnxkit::tests::wire_text_round_trip
