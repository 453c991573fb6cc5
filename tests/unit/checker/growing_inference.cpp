#include "checker/infer/growing_inference.h"

#include <doctest/doctest.h>

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/text.h"

namespace onnxkit::tests::growing_inference {

TEST_CASE("a graph that grows node by node is inferred like the whole") {
  const auto whole = wire::parse_text(R"(<ir_version: 8, opset_import: ["": 18]>
main (float[N, 3, 4] x) => (float[M, K] y) <int64[1] minus_one = {-1}> {
  shape = Shape <start = 0, end = 1> (x)
  sizes = Concat <axis = 0> (shape, minus_one)
  flat = Reshape (x, sizes)
  y = Relu (flat)
})",
                                      "test");
  REQUIRE(whole);
  ir::Model model = ir::clone(*whole);
  std::vector<ir::Node> nodes = std::move(model.graph->nodes);
  model.graph->nodes.clear();
  model.graph->outputs.clear();
  const spec::OpTable table;
  checker::GrowingInference growing(model, table);
  for (ir::Node& node : nodes) {
    model.graph->nodes.push_back(std::move(node));
    growing.advance(*model.graph);
  }
  const ir::Graph& graph = *model.graph;
  CHECK(growing.findings().empty());
  CHECK(checker::to_string(growing.type(graph, graph.find("y")), growing.dims()) == "float[N, 12]");
  const checker::Constant* sizes = growing.content(graph, graph.find("sizes"));
  REQUIRE(sizes);
  CHECK(growing.dims().to_string(sizes->dims()[0]) == "N");
  CHECK(sizes->dims()[1].is(-1));
}

}  // namespace onnxkit::tests::growing_inference
