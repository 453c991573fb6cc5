// The official text syntax; the oracle test compares with the official parser.
#include <doctest/doctest.h>

#include "libonnxkit/wire/text.h"
#include "tests/unit/support/models.h"

namespace onnxkit::tests::wire_text_parser {
namespace {

/// The one node of a graph around `node`.
ir::Model with_node(const std::string& node) { return parse_ir("g (float x) => (float y) {" + node + "}"); }

std::string error_of(std::string_view text) {
  const auto model = wire::parse_text(text, "test");
  return model.ok() ? "none" : model.error().diagnostic.message;
}

}  // namespace

TEST_CASE("header, graph and nodes") {
  const auto model = parse_ir(R"(
# A comment
<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3], producer_name: "hand", producer_version: "1", domain: "d",
 model_version: -4, doc_string: "two
lines", metadata_props: ["a": "b", "c": ""]>
main (float[N, 3, ?] x, seq(int64[]) s) => (float y) <float[2] w = {1, 2.5}, float[N] t> {
  [first] t, "", "odd name" = com.microsoft.Gelu:fast <axis = -1> (x, , "")
  y = Add (t, t)
})");
  CHECK(model.ir_version == 10);
  REQUIRE(model.opset_imports.size() == 2);
  CHECK(model.opset_imports[1].domain == "ai.onnx.ml");
  CHECK(model.opset_imports[1].version == 3);
  CHECK(model.model_version == -4);
  CHECK(model.doc_string == "two\nlines");
  CHECK(model.metadata_props[1].key == "c");
  const ir::Graph& graph = *model.graph;
  CHECK(graph.name == "main");
  REQUIRE(graph.inputs.size() == 2);
  CHECK(graph.inputs[0].type->shape->dims[0].param == "N");
  CHECK(graph.inputs[0].type->shape->dims[1].value == 3);
  CHECK(!graph.inputs[0].type->shape->dims[2].value);
  CHECK(graph.inputs[1].type->kind == ir::DeclaredType::Kind::sequence);
  CHECK(!graph.inputs[1].type->element->shape);
  CHECK(graph.outputs[0].type->shape->dims.empty());
  REQUIRE(graph.initializers.size() == 1);
  CHECK(graph.initializers[0].float_data.byte_count() == 8);
  CHECK(graph.value_infos.size() == 1);
  REQUIRE(graph.nodes.size() == 2);
  const ir::Node& node = graph.nodes[0];
  CHECK(node.name == "first");
  CHECK(node.domain == "com.microsoft");
  CHECK(node.op_type == "Gelu");
  CHECK(node.overload == "fast");
  REQUIRE(node.outputs.size() == 3);
  CHECK(node.outputs[1] == ir::ValueId::none);
  CHECK(graph.name_of(node.outputs[2]) == "odd name");
  REQUIRE(node.inputs.size() == 3);
  CHECK(node.inputs[1] == ir::ValueId::none);
  CHECK(node.inputs[2] == ir::ValueId::none);
}

TEST_CASE("attributes") {
  const auto model = with_node(R"(y = Op (x) <
    i = 7, f = 0.5, cast: float = 1, inf = -inf, s = "a\"b\\c\n", ints = [1, 2], floats = [1.0, 2], strings = ["a", ""],
    none: ints = [], t = float[2] name {1, 2}, type: type_proto = float[2, N], ref: int = @axis,
    body = inner (float a = {3}) => (float b) { b = Neg (a) }>)");
  const ir::Node& node = model.graph->nodes[0];
  const auto at = [&](std::string_view name) -> const ir::Attribute& {
    REQUIRE(node.find_attribute(name) != nullptr);
    return *node.find_attribute(name);
  };
  CHECK(*at("i").as<std::int64_t>() == 7);
  CHECK(*at("f").as<float>() == 0.5f);
  CHECK(*at("cast").as<float>() == 1);
  CHECK(*at("inf").as<float>() < -1e30f);
  CHECK(at("s").as<Text>()->view() == "a\"b\\cn");  // officially \n is n
  CHECK(at("ints").as<std::vector<std::int64_t>>()->size() == 2);
  CHECK(*at("floats").as<std::vector<float>>() == std::vector<float>{1, 2});
  CHECK(at("strings").as<std::vector<Text>>()->size() == 2);
  CHECK(at("none").type == 7);
  CHECK(at("t").tensor()->name == "name");
  CHECK((*at("type").as<std::unique_ptr<ir::DeclaredType>>())->shape->dims.size() == 2);
  CHECK(at("ref").type == 2);
  CHECK(at("ref").ref_attr_name == "axis");
  CHECK(at("body").graph()->initializers.size() == 1);
  CHECK(at("body").graph()->nodes.size() == 1);
}

TEST_CASE("functions") {
  const auto model = parse_ir(R"(
    g (float x) => (float y) { y = p.F <k = 3> (x) }
    <opset_import: ["": 18], domain: "p", overload: "v2", doc_string: "d">
    F <k, alpha: float = 0.5, l> (x, float[N] c) => (y) <float[N] t> { y = Add (x, c) })");
  REQUIRE(model.functions.size() == 1);
  const ir::Function& function = model.functions[0];
  CHECK(function.domain == "p");
  CHECK(function.overload == "v2");
  CHECK(function.attributes.size() == 2);
  CHECK(function.attribute_protos.size() == 1);
  CHECK(function.body.inputs.size() == 2);
  CHECK(!function.body.inputs[1].type);
  CHECK(function.body.value_infos.size() == 2);
  CHECK(function.opset_imports[0].version == 18);
}

TEST_CASE("errors say line, column, what was expected and what was found") {
  CHECK(error_of("") == "1:1: expected the name of a graph, found the end of the text");
  CHECK(error_of("<ir_version: x>") == "1:14: expected a whole number, found 'x'");
  CHECK(error_of("<version: 1>") == "1:2: expected a field of the model, such as ir_version, found \"version\"");
  CHECK(error_of("g (float x) => (float y) {\n  y = Relu(x y)\n}") == "2:14: expected ')', found 'y'");
  CHECK(error_of("g (float x) => (float y) {\n  y Relu(x)\n}") ==
        "2:5: expected '=' after the outputs of a node, found 'Relu'");
  CHECK(error_of("g (float x) -> (float y) { }") == "1:13: expected '=>', found '-'");
  CHECK(error_of("g (flot[2] x) => () { }") == "1:8: expected ')', found '['");
  CHECK(error_of("g () => () <uint8[1] w = {1.5}> { }") == "1:27: expected a whole number, found \"1.5\"");
  CHECK(error_of("g () => () <int64[1] w = {99999999999999999999}> { }") ==
        "1:27: expected a number of at most 64 bits, found \"99999999999999999999\"");
  CHECK(error_of("g () => () <float[N] w = {1}> { }") ==
        "1:26: expected a type with constant dimensions before data, found '{'");
  CHECK(error_of("g () => () { = A <s = \"never> () }") ==
        "1:23: expected a closing '\"', found an unterminated string");
  CHECK(error_of("g () => () { = A <a = [1, 2.5]> () }") == "1:27: expected a value of type int, found \"2.5\"");
  CHECK(error_of("g () => () { = A <a = []> () }") ==
        "1:23: expected an element, or the type of the list before '=', found \"[]\"");
  CHECK(error_of("g () => () { = A <a: int = 1.5> () }") == "1:28: expected a value of type int, found \"1.5\"");

  const auto model = wire::parse_text("g () => () {\n  y = \t?()\n}", "a/model.onnxtxt");
  REQUIRE(!model.ok());
  const Diagnostic& d = model.error().diagnostic;
  CHECK(d.code == "text-syntax");
  CHECK(d.location.file == "a/model.onnxtxt");
  CHECK(d.location.byte_offset == 20);
  REQUIRE(d.notes.size() == 1);
  CHECK(d.notes[0] == "line 2: \"  y = \\t?()\"");
}

TEST_CASE("nesting is bounded, long input takes linear time") {
  std::string deep = "g (";
  for (int i = 0; i < 100000; ++i) deep += "seq(";
  CHECK(error_of(deep).find("less nesting") != std::string::npos);
  deep.clear();
  for (int i = 0; i < 100000; ++i) deep += "g () => () { = A <b = ";
  CHECK(error_of(deep).find("less nesting") != std::string::npos);

  std::string wide = "g () => () <float[1] w = {";
  for (int i = 0; i < 300000; ++i) wide += "1.25, ";
  CHECK(parse_ir(wide + "2}> { }").graph->initializers[0].float_data.byte_count() == 300001 * 4);
}

}  // namespace onnxkit::tests::wire_text_parser
