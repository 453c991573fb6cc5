#include <doctest/doctest.h>

#include "converters/opset/engine/driver.h"
#include "converters/opset/engine/registry.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "onnx.pb.h"
#include "tests/unit/wire/fill.h"

namespace onnxkit::tests::converters_opset {
namespace {

void move_to_custom_domain(onnx::GraphProto& graph);

/// No node of a filled message is one of ai.onnx by chance.
template <class Nodes>
void move_nodes(Nodes& nodes) {
  for (onnx::NodeProto& node : nodes) {
    node.set_domain("custom");
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) move_to_custom_domain(*attribute.mutable_g());
      for (onnx::GraphProto& graph : *attribute.mutable_graphs()) move_to_custom_domain(graph);
    }
  }
}

void move_to_custom_domain(onnx::GraphProto& graph) { move_nodes(*graph.mutable_node()); }

void set_imports(google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  imports.Clear();
  auto* own = imports.Add();
  own->set_domain("");
  own->set_version(12);
  auto* other = imports.Add();
  other->set_domain("custom");
  other->set_version(3);
}

/// A model with every field of the schema set, in which one node, with every field set too, is Unsqueeze of opset 12.
onnx::ModelProto filled_model(std::uint32_t seed) {
  onnx::ModelProto proto;
  fill(proto, 4, seed);
  proto.set_ir_version(10);
  set_imports(*proto.mutable_opset_import());
  move_to_custom_domain(*proto.mutable_graph());
  for (auto& function : *proto.mutable_functions()) {
    set_imports(*function.mutable_opset_import());
    move_nodes(*function.mutable_node());
  }
  for (auto& training : *proto.mutable_training_info()) {
    move_to_custom_domain(*training.mutable_initialization());
    move_to_custom_domain(*training.mutable_algorithm());
  }
  auto* node = proto.mutable_graph()->add_node();
  fill(*node, 3, seed);
  node->set_op_type("Unsqueeze");
  node->set_domain("");
  node->clear_input();
  node->add_input("unsqueezed_from");
  node->clear_output();
  node->add_output("unsqueezed");
  node->clear_attribute();
  auto* axes = node->add_attribute();
  axes->set_name("axes");
  axes->set_type(onnx::AttributeProto::INTS);
  axes->add_ints(1);
  return proto;
}

}  // namespace

TEST_CASE("a conversion changes what it names and nothing else") {
  const spec::OpTable table;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    onnx::ModelProto expected = filled_model(seed);
    auto model = wire::read_binary(MappedFile::from_bytes(expected.SerializeAsString()));
    REQUIRE(model.ok());
    const opset::Conversion conversion = opset::convert(*model, table, {{"", 13}}, {});
    REQUIRE(conversion.refusals.empty());
    CHECK(conversion.changes.size() == 1);

    // By hand: the import, functions' imports, and the node whose axes are an input now.
    expected.mutable_opset_import(0)->set_version(13);
    for (auto& function : *expected.mutable_functions()) function.mutable_opset_import(0)->set_version(13);
    auto* nodes = expected.mutable_graph()->mutable_node();
    onnx::NodeProto* node = nodes->Mutable(nodes->size() - 1);
    node->clear_attribute();
    node->add_input("unsqueezed_axes");
    auto* constant = nodes->Add();
    constant->set_op_type("Constant");
    constant->add_output("unsqueezed_axes");
    auto* value = constant->add_attribute();
    value->set_name("value");
    value->set_type(onnx::AttributeProto::TENSOR);
    value->mutable_t()->add_dims(1);
    value->mutable_t()->set_data_type(onnx::TensorProto::INT64);
    value->mutable_t()->set_raw_data(std::string("\1\0\0\0\0\0\0\0", 8));
    nodes->SwapElements(nodes->size() - 1, nodes->size() - 2);
    CHECK(wire::to_bytes(*model) == expected.SerializeAsString());
  }
}

TEST_CASE("a registry tells operators of other domains by their full name") {
  opset::StepRegistry registry;
  registry.types({"Abs", "ai.onnx.ml::Scaler"}, {2});
  CHECK(registry.find("", "Abs", 2) != nullptr);
  CHECK(registry.find("ai.onnx.ml", "Scaler", 2) != nullptr);
  CHECK(registry.find("", "Scaler", 2) == nullptr);
}

}  // namespace onnxkit::tests::converters_opset
