// Changed copies of models, and which values two models have in common.
#include "libonnxkit/diff/cut_model.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libonnxkit/diff/common_values.h"
#include "tests/unit/support/models.h"

namespace onnxkit::tests::api_cut_model {

using Names = std::vector<std::string>;

namespace {

Names initializers_of(const ir::Graph& graph) {
  Names names;
  for (const ir::Tensor& tensor : graph.initializers) names.emplace_back(tensor.name.view());
  return names;
}

/// The part of a model that leads to `output` from known values.
Model part(const std::string& body, const std::string& output, const std::set<std::string, std::less<>>& known) {
  auto model = diffing::fresh_copy(parse_model(opset_17 + body), {});
  REQUIRE_MESSAGE(model, (model ? "" : model.error().diagnostic.message));
  diffing::set_outputs(model->ir(), Names{output});
  const Names inputs = diffing::cut(model->ir(), known);
  CHECK(inputs == names_of(*model->ir().graph, model->ir().graph->inputs));
  CHECK(model->ir().graph->value_infos.empty());
  return *std::move(model);
}

constexpr const char* chain = R"(
main (float[2, 3] x) => (float[2, 4] y)
  <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[4] b = {1, 2, 3, 4}>
{ p = MatMul (x, w)
  q = Add (p, b)
  r = Relu (q)
  y = Mul (r, q) })";

}  // namespace

TEST_CASE("cut: known values become inputs, nodes and initializers before them go") {
  const Model model = part(chain, "y", {"p", "r"});
  const ir::Graph& graph = *model.ir().graph;
  CHECK(names_of(graph, graph.inputs) == Names{"p", "r"});
  CHECK(graph.nodes.size() == 2);  // Add and Mul
  CHECK(initializers_of(graph) == Names{"b"});
  REQUIRE(graph.inputs[0].type);
  CHECK(graph.inputs[0].type->elem_type == 1);
  CHECK(graph.inputs[0].type->shape->dims.size() == 2);
}

TEST_CASE("cut: without known values the whole way stays, with the inputs that are read") {
  const Model model = part(chain, "r", {});
  const ir::Graph& graph = *model.ir().graph;
  CHECK(names_of(graph, graph.inputs) == Names{"x"});
  CHECK(names_of(graph, graph.outputs) == Names{"r"});
  CHECK(graph.nodes.size() == 3);
}

TEST_CASE("cut: what subgraphs read becomes an input, too") {
  const Model model = part(R"(
main (float[2] x, bool c) => (float[2] y)
{ p = Relu (x)
  q = Neg (p)
  y = If (c) <then_branch = a () => (float[2] t) { t = Add (p, q) },
              else_branch = b () => (float[2] e) { e = Identity (p) }> })",
                           "y", {"p", "q"});
  const ir::Graph& graph = *model.ir().graph;
  Names inputs = names_of(graph, graph.inputs);
  std::sort(inputs.begin(), inputs.end());
  CHECK(inputs == Names{"c", "p", "q"});
  CHECK(graph.nodes.size() == 1);
}

TEST_CASE("cut: a known output of a node that stays for its other output is no input") {
  const Model model = part(R"(
main (float[4] x) => (float[2] y)
{ n = Neg (x)
  a, b = Split (n)
  y = Add (a, b) })",
                           "y", {"n", "b"});
  const ir::Graph& graph = *model.ir().graph;
  CHECK(names_of(graph, graph.inputs) == Names{"n"});  // Split writes b when it runs for a
  CHECK(graph.nodes.size() == 2);
}

TEST_CASE("cut: inputs with a default stay inputs with their default") {
  const Model model = part(R"(
main (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}, float[2] unused = {3, 4}>
{ p = Add (x, w)
  y = Relu (p) })",
                           "p", {});
  const ir::Graph& graph = *model.ir().graph;
  CHECK(names_of(graph, graph.inputs) == Names{"x", "w"});
  CHECK(initializers_of(graph) == Names{"w"});
}

TEST_CASE("cut: values whose type nothing tells have none") {
  const Model model = part(R"(
main (float[2] x) => (y)
{ p = other.Unknown (x)
  y = Relu (p) })",
                           "y", {"p"});
  const ir::Graph& graph = *model.ir().graph;
  REQUIRE(names_of(graph, graph.inputs) == Names{"p"});
  CHECK(!graph.inputs[0].type);
}

TEST_CASE("set_outputs: values inside become the only outputs, unknown names and inputs are left out") {
  auto model = diffing::fresh_copy(parse_model(opset_17 + chain), {});
  REQUIRE(model);
  diffing::set_outputs(model->ir(), Names{"q", "nothing", "x", "p", "y"});
  const ir::Graph& graph = *model->ir().graph;
  CHECK(names_of(graph, graph.outputs) == Names{"q", "p", "y"});
  for (const ir::ValueInfo& output : graph.outputs) CHECK(output.type);
  const Names others = names_of(graph, graph.value_infos);
  CHECK(std::find(others.begin(), others.end(), "p") == others.end());
}

TEST_CASE("common values: what both write, in the order of execution, with what leads to it and what follows") {
  const Model one = parse_model(opset_17 + chain), other = parse_model(opset_17 + R"(
main (float[2, 3] x, float[2, 4] q) => (float[2, 4] y)
{ p0 = Relu (x)
  p = Relu (p0)
  r = Neg (q)
  y = Mul (r, q) })");
  const diffing::CommonValues values(one.ir(), other.ir());
  REQUIRE(values.size() == 3);  // q is an input of the other
  CHECK(values.name(0) == "p");
  CHECK(values.name(1) == "r");
  CHECK(values.name(2) == "y");
  CHECK(values.find("r") == 1);
  CHECK(!values.find("q"));
  CHECK(values.ancestors(2) == std::vector<bool>{true, true, false});
  CHECK(values.ancestors(0) == std::vector<bool>{false, false, false});
  CHECK(values.descendants(0) == std::vector<bool>{false, true, true});
}

TEST_CASE("common values: a shape vouches for no numbers") {
  const Model model = parse_model(opset_17 + R"(
main (float[2] x) => (float[2] y)
{ p = Neg (x)
  s = Shape (p)
  y = Expand (x, s) })");
  const diffing::CommonValues values(model.ir(), model.ir());
  REQUIRE(values.size() == 3);
  CHECK(values.ancestors(2) == std::vector<bool>{true, true, false});
  CHECK(values.ancestors(2, diffing::CommonValues::Through::data) == std::vector<bool>{false, true, false});
}

}  // namespace onnxkit::tests::api_cut_model
