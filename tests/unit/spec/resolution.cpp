#include "libonnxkit/spec/resolution.h"

#include <thread>

#include "libonnxkit/ir/order.h"
#include "tests/unit/support/models.h"

namespace onnxkit::tests::spec_resolution {
namespace {

constexpr const char* text = R"(<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
g (float[2] x, bool c) => (float[2] y)
{ p = mine.Twice (x)
  q = Nothing (p)
  y = If (c) <then_branch = a () => (float[2] t) { t = mine.Twice (p) }, else_branch = b () => (float[2] e) { e = Relu (q) }>
  z = absent.Op (y) }
<domain: "mine", opset_import: ["" : 12]>
Twice (a) => (b) { b = Relu (a) })";

}  // namespace

TEST_CASE("resolution: functions, operators in force, unknown operators and domains") {
  const ir::Model model = parse_ir(text);
  const spec::OpTable table;
  const spec::Resolution resolution(model, table);
  const ir::Graph& graph = *model.graph;
  const spec::ResolvedNode& call = resolution.of(graph, 0);
  CHECK(call.function == &model.functions[0]);
  CHECK(call.schema == nullptr);
  CHECK(call.opset == 1);
  const spec::ResolvedNode& unknown = resolution.of(graph, 1);
  CHECK(unknown.function == nullptr);
  CHECK(unknown.schema == nullptr);
  CHECK(unknown.opset == 17);
  const spec::ResolvedNode& branch = resolution.of(graph, 2);
  REQUIRE(branch.schema);
  CHECK(branch.schema->name == "If");
  CHECK(branch.schema->since_version == 16);
  const spec::ResolvedNode& foreign = resolution.of(graph, 3);
  CHECK_FALSE(foreign.opset);
  CHECK(foreign.schema == nullptr);
}

TEST_CASE("resolution: subgraphs go by the imports of the model, bodies by those of their function") {
  const ir::Model model = parse_ir(text);
  const spec::OpTable table;
  const spec::Resolution resolution(model, table);
  std::vector<const ir::Graph*> branches;
  ir::for_each_subgraph(model.graph->nodes[2], [&](const ir::Graph& body, std::size_t) { branches.push_back(&body); });
  REQUIRE(branches.size() == 2);
  CHECK(resolution.of(*branches[0], 0).function == &model.functions[0]);
  CHECK(resolution.of(*branches[1], 0).schema->since_version == 14);
  CHECK(resolution.of(model.functions[0].body, 0).schema->since_version == 6);
  CHECK(resolution.nodes(ir::Graph()).empty());
}

TEST_CASE("resolution: threads may share one") {
  const ir::Model model = parse_ir(text);
  const spec::OpTable table;
  const spec::Resolution resolution(model, table);
  std::vector<std::size_t> known(4);
  std::vector<std::thread> threads;
  for (std::size_t& count : known) {
    threads.emplace_back([&] {
      for (const spec::ResolvedNode& node : resolution.nodes(*model.graph))
        count += node.schema || node.function ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(known == std::vector<std::size_t>(4, 2));
}

}  // namespace onnxkit::tests::spec_resolution
