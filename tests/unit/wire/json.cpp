#include "libonnxkit/wire/json.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "libonnxkit/wire/text.h"
#include "onnx.pb.h"
#include "tests/unit/wire/fill.h"

namespace onnxkit::tests::wire_json {
namespace {

std::string json_of(const ir::Model& model) {
  const auto json = wire::print_json(model);
  REQUIRE_MESSAGE(json.ok(), json.error().diagnostic.message);
  return json->text;
}

std::string error_of(std::string_view json) {
  const auto model = wire::parse_json(json, "m.json");
  return model.ok() ? "none" : model.error().diagnostic.code;
}

}  // namespace

TEST_CASE("json: schema names, enum names, 64-bit integers and special floats as protobuf writes them") {
  const auto model = wire::parse_text(R"(<ir_version: 10, opset_import: ["": 21]>
    g (float[N] x) => (float y) <float[2] w = {nan, -inf} #@{raw}
    , int64[1] i = {-1}> { y = Op <a = 0.5> (x, "") })",
                                      "test");
  REQUIRE(model.ok());
  const std::string json = json_of(*model);
  for (const char* part : {"\"ir_version\": \"10\"", "\"opset_import\"", "\"dim_param\": \"N\"", "\"elem_type\": 1",
                           "\"raw_data\": \"AADAfwAAgP8=\"", "\"int64_data\"", "\"type\": \"FLOAT\"", "\"f\": 0.5",
                           "\"op_type\": \"Op\""}) {
    CAPTURE(part);
    CHECK(json.find(part) != std::string::npos);
  }
}

TEST_CASE("json: every field of the schema comes back") {
  for (std::uint32_t start = 0; start < 12; ++start) {
    onnx::ModelProto proto;
    std::uint32_t seed = start;
    fill(proto, 4, seed);
    const auto model = wire::read_binary(MappedFile::from_bytes(proto.SerializeAsString()));
    REQUIRE(model.ok());
    const auto again = wire::parse_json(json_of(*model), "test");
    REQUIRE_MESSAGE(again.ok(), again.error().diagnostic.message);
    CHECK(wire::to_bytes(*again) == proto.SerializeAsString());
  }
}

TEST_CASE("json: what cannot be printed or read") {
  const auto latin = wire::parse_text("g () => () { = A () #@{doc_string: e\"caf\\xe9\"}\n }", "test");
  REQUIRE(latin.ok());
  const auto json = wire::print_json(*latin);
  REQUIRE(!json.ok());
  CHECK(json.error().diagnostic.code == "json-unprintable");
  CHECK(json.error().diagnostic.message == "JSON requires UTF-8, but a field onnx.NodeProto.doc_string is not UTF-8");

  CHECK(error_of("{") == "json-syntax");
  CHECK(error_of("{\"no_such_field\": 1}") == "json-syntax");
  CHECK(error_of("{\"ir_version\": \"ten\"}") == "json-syntax");
  CHECK(error_of(std::string(100000, '[')) == "json-syntax");
  std::string deep = "{\"graph\":";
  for (int i = 0; i < 10000; ++i) deep += "{\"node\":[{\"attribute\":[{\"g\":";
  CHECK(error_of(deep) == "json-syntax");
}

TEST_CASE("json: zeros keep their sign and tensors the bits of their NaNs") {
  onnx::ModelProto proto;
  onnx::GraphProto& graph = *proto.mutable_graph();
  onnx::NodeProto& node = *graph.add_node();
  onnx::AttributeProto& one = *node.add_attribute();
  one.set_name("-0");
  one.set_f(-0.0F);
  onnx::AttributeProto& many = *node.add_attribute();
  for (const float x : {0.0F, -0.0F, -0.5F, -10.0F}) many.add_floats(x);
  onnx::TensorProto& doubles = *graph.add_initializer();
  doubles.set_data_type(11);
  for (const double x : {-0.0, 0.0}) doubles.add_double_data(x);
  onnx::TensorProto& nans = *graph.add_initializer();
  nans.set_data_type(1);
  nans.add_float_data(std::bit_cast<float>(0xffc12345U));
  nans.add_float_data(1);
  const auto model = wire::read_binary(MappedFile::from_bytes(proto.SerializeAsString()));
  REQUIRE(model.ok());
  const auto again = wire::parse_json(json_of(*model), "test");
  REQUIRE_MESSAGE(again.ok(), again.error().diagnostic.message);
  nans.clear_float_data();
  nans.set_raw_data(std::string("\x45\x23\xc1\xff\0\0\x80\x3f", 8));
  CHECK(wire::to_bytes(*again) == proto.SerializeAsString());

  one.set_f(std::bit_cast<float>(0xffc12345U));
  const auto special = wire::read_binary(MappedFile::from_bytes(proto.SerializeAsString()));
  REQUIRE(special.ok());
  const auto json = wire::print_json(*special);
  REQUIRE(!json.ok());
  CHECK(json.error().diagnostic.message ==
        "JSON has one NaN, but a field onnx.AttributeProto.f has one with other bits");
}

TEST_CASE("json: fields that the schema does not name are kept and counted by message") {
  onnx::ModelProto proto;
  constexpr int greatest_number = (1 << 29) - 1;
  auto& of_model = *proto.GetReflection()->MutableUnknownFields(&proto);
  of_model.AddVarint(2000, 1);
  of_model.AddFixed32(2000, 2);
  of_model.AddGroup(2002)->AddFixed64(1, 3);
  of_model.AddLengthDelimited(greatest_number)->assign("the field that the JSON form adds");
  onnx::GraphProto& graph = *proto.mutable_graph();
  for (int i = 0; i < 2; ++i) {
    onnx::NodeProto& node = *graph.add_node();
    node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(2001)->assign("x\0\xff", 3);
  }
  onnx::TypeProto::Tensor& type = *graph.add_input()->mutable_type()->mutable_tensor_type();
  type.set_elem_type(1);
  type.GetReflection()->MutableUnknownFields(&type)->AddVarint(greatest_number, 4);
  const std::string bytes = proto.SerializeAsString();
  const auto model = wire::read_binary(MappedFile::from_bytes(std::string(bytes)));
  REQUIRE(model.ok());
  const auto json = wire::print_json(*model);
  REQUIRE(json.ok());
  CHECK(json->unknown_fields == std::map<std::string, std::size_t>{{"ModelProto", 4}, {"NodeProto", 2}, {"Tensor", 1}});
  const auto again = wire::parse_json(json->text, "test");
  REQUIRE_MESSAGE(again.ok(), again.error().diagnostic.message);
  CHECK(wire::to_bytes(*again) == bytes);
}

TEST_CASE("json: an enum value that the schema lacks is kept") {
  onnx::ModelProto proto;
  onnx::AttributeProto& attribute = *proto.mutable_graph()->add_node()->add_attribute();
  attribute.set_name("a");
  attribute.GetReflection()->MutableUnknownFields(&attribute)->AddVarint(20, 99);
  const auto model = wire::read_binary(MappedFile::from_bytes(proto.SerializeAsString()));
  REQUIRE(model.ok());
  const auto again = wire::parse_json(json_of(*model), "test");
  REQUIRE_MESSAGE(again.ok(), again.error().diagnostic.message);
  CHECK(wire::to_bytes(*again) == wire::to_bytes(*model));
}

TEST_CASE("json: unknown_fields that are no fields are refused") {
  const auto model = wire::parse_json("{\"graph\": {\"node\": [{\"unknown_fields\": \"gn0FeA==\"}]}}", "m.json");
  REQUIRE(!model.ok());
  CHECK(model.error().diagnostic.code == "json-syntax");
  CHECK(model.error().diagnostic.message ==
        "not a model in JSON: unknown_fields of NodeProto is not the encoding of whole protobuf fields");
}

}  // namespace onnxkit::tests::wire_json
