#include "libonnxkit/ir/uses.h"

#include "tests/unit/support/models.h"

namespace onnxkit::tests::ir_uses {

using Nodes = std::vector<std::uint32_t>;

namespace {

Nodes consumers(const ir::Uses& uses, const ir::Graph& graph, std::string_view name) {
  const auto found = uses.consumers(graph.find(name));
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("uses: producers, consumers and reads, what subgraphs capture included") {
  const ir::Model model = parse_graph(R"(
g (float[2] x, bool c) => (float[2] y, float[2] p)
{ p = Relu (x)
  q = Add (p, p)
  y = If (c) <then_branch = a () => (float[2] t) { t = Add (p, q) },
              else_branch = b () => (float[2] e) { e = Identity (p) }>
  unused = Clip (q, , x) })");
  const ir::Graph& graph = *model.graph;
  const ir::Uses uses(graph);
  CHECK(uses.producer(graph.find("x")) == -1);
  CHECK(uses.producer(graph.find("q")) == 1);
  CHECK(uses.producer(ir::ValueId::none) == -1);
  CHECK(consumers(uses, graph, "x") == Nodes{0, 3});
  CHECK(consumers(uses, graph, "p") == Nodes{1, 2});  // once each, although Add reads it twice and both branches do
  CHECK(consumers(uses, graph, "q") == Nodes{2, 3});
  CHECK(consumers(uses, graph, "y").empty());
  CHECK(names_of(graph, uses.reads(3)) == std::vector<std::string>{"q", "x"});
  CHECK(uses.reads(2).front() == graph.find("c"));
  CHECK(uses.is_output(graph.find("p")));
  CHECK_FALSE(uses.is_output(graph.find("q")));
  CHECK(uses.is_used(graph.find("y")));
  CHECK(uses.is_used(graph.find("q")));
  CHECK_FALSE(uses.is_used(graph.find("unused")));
  CHECK_FALSE(uses.is_used(ir::ValueId::none));
}

TEST_CASE("uses: of a value that two nodes write the first is the producer") {
  const ir::Model model = parse_graph("g (float[2] x) => (float[2] y) { y = Relu (x) y = Abs (x) }");
  CHECK(ir::Uses(*model.graph).producer(model.graph->find("y")) == 0);
}

TEST_CASE("initializers: dense and sparse by value, the last of a name") {
  ir::Model model =
      parse_graph("g (float[1] x) => (float[1] y) <float[1] w = {1}, float[1] v = {2}> { y = Add (x, w) }");
  ir::Graph& graph = *model.graph;
  graph.initializers.emplace_back().name = "w";
  graph.sparse_initializers.emplace_back().values = std::make_unique<ir::Tensor>();
  graph.sparse_initializers[0].values->name = "s";
  graph.sparse_initializers.emplace_back();  // without values, as a broken file may have it
  graph.intern_initializers();
  const ir::InitializerTable table(graph);
  CHECK(table.find(graph.find("w")) == &graph.initializers[2]);
  CHECK(table.find(graph.find("v")) == &graph.initializers[1]);
  CHECK(table.find(graph.find("s")) == nullptr);
  CHECK(table.find_sparse(graph.find("s")) == &graph.sparse_initializers[0]);
  CHECK(table.contains(graph.find("s")));
  CHECK_FALSE(table.contains(graph.find("x")));
  CHECK_FALSE(table.contains(ir::ValueId::none));
  CHECK_FALSE(ir::InitializerTable(ir::Graph()).contains(ir::ValueId{0}));
}

}  // namespace onnxkit::tests::ir_uses
