#include "libonnxkit/ir/extract.h"

#include <optional>

#include "libonnxkit/wire/binary/writer.h"
#include "tests/unit/sample.h"
#include "tests/unit/support/models.h"

namespace onnxkit::tests::ir_extract {

using Names = std::vector<std::string>;

namespace {

ir::Model extracted(const ir::Model& model, const Names& from, const Names& to) {
  auto made = ir::extract(model, from, to);
  REQUIRE_MESSAGE(made, (made ? "" : made.error().diagnostic.message));
  return *std::move(made);
}

constexpr const char* chain = R"(
g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}, float[2] q>
{ p = Relu (x)
  q = Add (p, w)
  r = Mul (q, v)
  y = Neg (r) })";

}  // namespace

TEST_CASE("extract: nodes, inputs, initializers and declarations between named values") {
  const ir::Model model = parse_graph(chain);
  const ir::Model part = extracted(model, {"p"}, {"r"});
  const ir::Graph& graph = *part.graph;
  CHECK(ops_of(graph) == Names{"Add", "Mul"});
  CHECK(names_of(graph, graph.inputs) == Names{"p"});
  CHECK(names_of(graph, graph.outputs) == Names{"r"});
  CHECK(graph.initializers.size() == 2);
  CHECK(names_of(graph, graph.value_infos) == Names{"q"});
  CHECK(graph.find("x") == ir::ValueId::none);
  CHECK(part.opset_imports.size() == 2);
  CHECK(names_of(graph, graph.nodes[1].inputs) == Names{"q", "v"});
}

TEST_CASE("extract: the model stays as it was and may go first") {
  std::optional<ir::Model> model = parse_graph(chain);
  const std::string before = wire::to_bytes(*model);
  const ir::Model part = extracted(*model, {}, {"q"});
  CHECK(wire::to_bytes(*model) == before);
  const std::string bytes = wire::to_bytes(part);
  model.reset();
  CHECK(wire::to_bytes(part) == bytes);
  CHECK(names_of(*part.graph, part.graph->inputs) == Names{"x"});
  CHECK(part.graph->initializers.size() == 1);
}

TEST_CASE("extract: what subgraphs capture becomes an input") {
  const ir::Model model = parse_graph(R"(
g (float[2] x, bool c) => (float[2] y)
{ p = Relu (x)
  q = Abs (p)
  y = If (c) <then_branch = a () => (float[2] t) { t = Abs (q) }, else_branch = b () => (float[2] e) { e = Neg (p) }> })");
  const ir::Model part = extracted(model, {"p", "q"}, {"y"});
  CHECK(ops_of(*part.graph) == Names{"If"});
  CHECK(names_of(*part.graph, part.graph->inputs) == Names{"c", "p", "q"});
}

TEST_CASE("extract: functions that the part calls, and those they call") {
  auto model = wire::parse_text(R"(<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
g (float[2] x) => (float[2] y) { p = mine.Outer (x) y = mine.Other (p) }
<domain: "mine", opset_import: ["" : 17, "mine" : 1]> Outer (a) => (b) { b = mine.Inner (a) }
<domain: "mine", opset_import: ["" : 17]> Inner (a) => (b) { b = Relu (a) }
<domain: "mine", opset_import: ["" : 17]> Other (a) => (b) { b = Abs (a) })",
                                "test");
  REQUIRE(model.ok());
  const ir::Model part = extracted(*model, {}, {"p"});
  REQUIRE(part.functions.size() == 2);
  CHECK(part.functions[0].name == "Outer");
  CHECK(part.functions[1].name == "Inner");
}

TEST_CASE("extract: of functions with one name the first is taken") {
  const auto model = wire::parse_text(R"(<ir_version: 10, opset_import: ["" : 17, "mine" : 1]>
g (float[2] x) => (float[2] y) { y = mine.F (x) }
<domain: "mine", opset_import: ["" : 17]> F (a) => (b) { b = Relu (a) }
<domain: "mine", opset_import: ["" : 17]> F (a) => (b) { b = Abs (a) })",
                                      "test");
  REQUIRE(model.ok());
  const ir::Model part = extracted(*model, {}, {"y"});
  REQUIRE(part.functions.size() == 1);
  CHECK(ops_of(part.functions[0].body) == Names{"Relu"});
}

TEST_CASE("extract: a chain of calls as long as the file has functions") {
  constexpr int length = sampled(200'000, 50'000);
  std::string text =
      "<ir_version: 10, opset_import: [\"\" : 17, \"f\" : 1]> g (float[2] x) => (float[2] y) { y = f.F1 (x) }\n";
  for (int i = 1; i < length; ++i)
    text += "<domain: \"f\", opset_import: [\"f\" : 1]> F" + std::to_string(i) + " (a) => (b) { b = f.F" +
            std::to_string(i + 1) + " (a) }\n";
  const auto model = wire::parse_text(text, "test");
  REQUIRE(model.ok());
  CHECK(extracted(*model, {}, {"y"}).functions.size() == length - 1);
}

TEST_CASE("extract: an input or an initializer may be an output") {
  const ir::Model model = parse_graph(chain);
  const ir::Model part = extracted(model, {}, {"x", "w"});
  CHECK(part.graph->nodes.empty());
  CHECK(names_of(*part.graph, part.graph->inputs) == Names{"x"});
  CHECK(names_of(*part.graph, part.graph->outputs) == Names{"x", "w"});
  CHECK(part.graph->initializers.size() == 1);
}

TEST_CASE("extract: unknown names are an error") {
  const ir::Model model = parse_graph(chain);
  const Names none, unknown = {"nothing"};
  CHECK(ir::extract(model, unknown, none).error().diagnostic.code == "unknown-value");
  CHECK(ir::extract(model, none, unknown).error().diagnostic.code == "unknown-value");
  CHECK(ir::extract(ir::Model(), none, none).error().diagnostic.code == "no-graph");
}

}  // namespace onnxkit::tests::ir_extract
