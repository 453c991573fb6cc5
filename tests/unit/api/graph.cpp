#include "onnxkit/graph.h"

#include <doctest/doctest.h>

#include <string>

#include "onnxkit/check.h"
#include "onnxkit/run.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::api_graph {
namespace {

const std::string text = opset_17 +
                         "main (float[N, 2] a, bool c) => (float[N, 2] y) <float[2] w = {1, 2}> {\n"
                         "  h = Add (a, w)\n"
                         "  s = Softmax <axis = 1> (h)\n"
                         "  y = If (c) <then_branch = t () => (float[N, 2] p) { p = Relu (s) },\n"
                         "              else_branch = e () => (float[N, 2] q) { q = Neg (s) }>\n"
                         "}";

std::size_t errors_of(const Model& model) { return check(model)->errors; }

}  // namespace

TEST_CASE("graph: nodes, values, types and attributes as data") {
  const Model model = parse_model(text);
  const GraphView graph = main_graph(model).value();
  CHECK(graph.name() == "main");
  REQUIRE(graph.node_count() == 3);
  CHECK(graph.node(0).op_type() == "Add");
  CHECK(graph.value_name(graph.node(0).input(1)) == "w");
  CHECK(graph.find_value("h") == graph.node(0).output(0));
  CHECK(graph.find_value("nothing") == ValueIndex::none);

  REQUIRE(graph.input_count() == 2);
  const DeclaredValue input = graph.input(0);
  CHECK(input.name == "a");
  REQUIRE(input.type);
  CHECK(input.type->kind() == ValueKind::tensor);
  CHECK(input.type->element_type() == ElementType::float32);
  const auto shape = input.type->shape().value();
  REQUIRE(shape.size() == 2);
  CHECK(shape[0].name == "N");
  CHECK_FALSE(shape[0].number);
  CHECK(shape[1].number == 2);

  const auto axis = graph.node(1).find_attribute("axis");
  REQUIRE(axis);
  CHECK(axis->kind() == AttributeKind::integer);
  CHECK(axis->integer() == 1);
  CHECK_FALSE(axis->real());
  CHECK(axis->tensor().error().kind == ErrorKind::usage);
  CHECK_FALSE(graph.node(1).find_attribute("axes"));

  REQUIRE(graph.initializer_count() == 1);
  CHECK(graph.initializer_name(0) == "w");
  CHECK(graph.initializer_dims(0)[0] == 2);
  const auto content = graph.initializer(0);
  REQUIRE(content);
  CHECK(to_reals(*content) == std::vector<double>{1, 2});
}

TEST_CASE("graph: subgraphs and functions") {
  const Model model = parse_model(text);
  const auto branch = main_graph(model)->node(2).find_attribute("then_branch");
  REQUIRE(branch);
  const auto graphs = branch->graphs();
  REQUIRE(graphs.size() == 1);
  CHECK(graphs[0].node(0).op_type() == "Relu");
  CHECK(graphs[0].value_name(graphs[0].node(0).input(0)) == "s");
  CHECK(functions(model).empty());
}

TEST_CASE("graph: every kind of attribute is told by its own function") {
  Model model = parse_model(text);
  GraphEditor editor(model);
  const std::map<std::string, AttributeValue> attributes = {{"f", 2.5f},
                                                            {"fs", std::vector<float>{1, 2}},
                                                            {"i", std::int64_t{7}},
                                                            {"s", std::string("text")},
                                                            {"ss", std::vector<std::string>{"a", "b"}},
                                                            {"t", floats({3})},
                                                            {"is", std::vector<std::int64_t>{4, 5, 6}}};
  REQUIRE(editor.add_node({.op_type = "Odd", .domain = "test", .outputs = {"z"}, .attributes = attributes}));
  const NodeView node = main_graph(model)->node(3);
  CHECK(node.domain() == "test");
  CHECK(node.find_attribute("f")->real() == 2.5f);
  CHECK(node.find_attribute("fs")->reals().size() == 2);
  CHECK(node.find_attribute("i")->integer() == 7);
  CHECK(node.find_attribute("s")->string() == "text");
  CHECK(node.find_attribute("ss")->strings() == std::vector<std::string_view>{"a", "b"});
  CHECK(to_reals(*node.find_attribute("t")->tensor()) == std::vector<double>{3});
  CHECK(node.find_attribute("is")->integers()[2] == 6);
}

TEST_CASE("graph editor: what is changed computes what it says") {
  Model model = parse_model(opset_17 + "main (float[2] a) => (float[2] y) <float[2] w = {1, 2}> { y = Add (a, w) }");
  GraphEditor editor(model);
  REQUIRE(editor.add_node({.op_type = "Neg", .inputs = {"a"}, .outputs = {"n"}}, 0));
  REQUIRE(editor.set_input(1, 0, "n"));
  REQUIRE(editor.set_initializer("w", floats({10, 20})));
  CHECK(errors_of(model) == 0);
  const auto ran = run(model, {{"a", Value(floats({1, 2}))}});
  REQUIRE(ran);
  CHECK(to_reals(ran->outputs[0].value.tensor) == std::vector<double>{9, 18});
}

TEST_CASE("graph editor: a renamed value keeps its readers, in subgraphs too") {
  Model model = parse_model(text);
  GraphEditor editor(model);
  REQUIRE(editor.rename_value("s", "probabilities"));
  REQUIRE(editor.rename_value("w", "bias"));
  CHECK(errors_of(model) == 0);
  const GraphView graph = main_graph(model).value();
  CHECK(graph.find_value("s") == ValueIndex::none);
  CHECK(graph.initializer_name(0) == "bias");
  const auto branch = graph.node(2).find_attribute("else_branch")->graphs();
  CHECK(branch[0].value_name(branch[0].node(0).input(0)) == "probabilities");
  CHECK(editor.rename_value("h", "bias").error().kind == ErrorKind::usage);
  CHECK(editor.rename_value("nothing", "x").error().diagnostic.code == "unknown-value");
}

TEST_CASE("graph editor: attributes and nodes go") {
  Model model = parse_model(text);
  GraphEditor editor(model);
  REQUIRE(editor.set_attribute(1, "axis", std::int64_t{0}));
  CHECK(main_graph(model)->node(1).find_attribute("axis")->integer() == 0);
  CHECK(main_graph(model)->node(1).attribute_count() == 1);
  REQUIRE(editor.remove_attribute(1, "axis"));
  CHECK(main_graph(model)->node(1).attribute_count() == 0);
  REQUIRE(editor.remove_node(0));
  CHECK(main_graph(model)->node_count() == 2);
  CHECK(errors_of(model) > 0);
  CHECK(editor.remove_node(7).error().kind == ErrorKind::usage);
  CHECK(editor.add_node({.op_type = "Relu"}, 9).error().kind == ErrorKind::usage);
}

}  // namespace onnxkit::tests::api_graph
