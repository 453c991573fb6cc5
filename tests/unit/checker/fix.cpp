#include "checker/fix.h"
#include "libonnxkit/ir/scope.h"

#include <doctest/doctest.h>

#include "checker/check.h"
#include "tests/unit/support/models.h"

namespace onnxkit::tests::checker_fix {

using namespace checker;

namespace {

std::size_t errors_of(const ir::Model& model) {
  Collector collector;
  check_model(model, spec::OpTable(), {}, collector);
  return collector.error_count();
}

std::vector<std::string> codes_of(const std::vector<Fix>& fixes) {
  std::vector<std::string> codes;
  for (const Fix& fix : fixes) codes.push_back(fix.code);
  return codes;
}

TEST_CASE("nodes are sorted, and only moved where they must be") {
  ir::Model model = parse_ir(R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (float[2] x) => (float[2] y) {
      y = Neg(b)
      a = Relu(x)
      b = Abs(a)
    })");
  REQUIRE(errors_of(model) > 0);
  CHECK(codes_of(fix_model(model, spec::OpTable())) == std::vector<std::string>{"not-sorted"});
  CHECK(errors_of(model) == 0);
  CHECK(model.graph->nodes.back().op_type == "Neg");
}

TEST_CASE("a name that hides an outer one is renamed in its graph and in the graphs inside it") {
  ir::Model model = parse_ir(R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <
        then_branch = t () => (float[2] p) {
          x = Constant <value = float[2] {1.0, 2.0}> ()
          p = If (c) <then_branch = tt () => (float[2] q) { q = Abs(x) }, else_branch = te () => (float[2] r) { r = Neg(x) }>
        },
        else_branch = e () => (float[2] s) { s = Relu(x) }
      >
    })");
  REQUIRE(errors_of(model) > 0);
  CHECK(codes_of(fix_model(model, spec::OpTable())) == std::vector<std::string>{"subgraph-scope"});
  CHECK(errors_of(model) == 0);
  const ir::Graph& branch = *model.graph->nodes[0].find_attribute("then_branch")->graph();
  const ir::Graph& inner = *branch.nodes[1].find_attribute("then_branch")->graph();
  CHECK(branch.name_of(branch.nodes[0].outputs[0]) == "x_inner");
  CHECK(inner.name_of(inner.nodes[0].inputs[0]) == "x_inner");
  const ir::Graph& other = *model.graph->nodes[0].find_attribute("else_branch")->graph();
  CHECK(other.name_of(other.nodes[0].inputs[0]) == "x");
}

TEST_CASE("stale value_info goes, right value_info stays") {
  ir::Model model = parse_ir(R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (float[N, 3] x) => (float[N, 3] y) <float[N, 3] a, float[7, 7] b> {
      a = Relu(x)
      b = Neg(a)
      y = Abs(b)
    })");
  REQUIRE(errors_of(model) > 0);
  fix_model(model, spec::OpTable());
  CHECK(errors_of(model) == 0);
  REQUIRE(model.graph->value_infos.size() == 1);
  CHECK(model.graph->name_of(model.graph->value_infos[0].value) == "a");
}

TEST_CASE("value_info of a value that does not exist goes under its own code") {
  ir::Model model = parse_ir(R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (float[2] x) => (float[2] y) <float[2] nothing, float[7] a> {
      a = Relu(x)
      y = Abs(a)
    })");
  CHECK(codes_of(fix_model(model, spec::OpTable())) ==
        std::vector<std::string>{"value-info-unknown", "declared-shape"});
}

TEST_CASE("an output gets the shape that the nodes give, and keeps sizes that inference does not know") {
  ir::Model model = parse_ir(R"(
    <ir_version: 10, opset_import: ["": 20]>
    g (float[1, 1, H, 4] x, float[K] z) => (float[1, 1, H, 1] y, int64[1, N, 2] n, float[2, 3] sound) {
      y = MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]> (x)
      n = NonZero (z)
      sound = Constant <value = float[2, 3] {1, 2, 3, 4, 5, 6}> ()
    })");
  CHECK(codes_of(fix_model(model, spec::OpTable())) == std::vector<std::string>{"declared-shape", "declared-shape"});
  const auto& y = model.graph->outputs[0].type->shape->dims;
  CHECK(y[2].param == "H");
  CHECK_FALSE(y[3].value);
  CHECK(model.graph->outputs[1].type->shape->dims.size() == 2);
  CHECK(fix_model(model, spec::OpTable()).empty());
}

TEST_CASE("a sparse initializer that hides an outer name is renamed") {
  ir::Model model = parse_ir(R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] s) { s = Relu(x) }>
    })");
  ir::Graph& branch = *ir::mutable_graphs(model).at(1);
  ir::SparseTensor& sparse = branch.sparse_initializers.emplace_back();
  sparse.values = std::make_unique<ir::Tensor>();
  sparse.values->name = Text("x");
  sparse.dims = {2};
  CHECK(codes_of(fix_model(model, spec::OpTable())) == std::vector<std::string>{"subgraph-scope"});
  CHECK(sparse.values->name == "x_inner");
  CHECK(branch.name_of(branch.nodes[0].inputs[0]) == "x_inner");
}

TEST_CASE("a missing import gets the newest opset in which every node fits and that goes with the IR version") {
  ir::Model model = parse_ir(R"(
    <ir_version: 6, opset_import: ["": 11]>
    g (float[2, 1] x) => (float[2] y) {
      y = Squeeze <axes = [1]> (x)
    })");
  model.opset_imports.clear();
  CHECK(codes_of(fix_model(model, spec::OpTable())) == std::vector<std::string>{"opset-import"});
  CHECK(ir::opset_of(model.opset_imports, "") == 11);
  CHECK(errors_of(model) == 0);
}

TEST_CASE("a cycle is left as it is") {
  ir::Model model = parse_ir(R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (float[2] x) => (float[2] b) {
      a = Add(x, b)
      b = Relu(a)
    })");
  CHECK(fix_model(model, spec::OpTable()).empty());
  CHECK(model.graph->nodes[0].op_type == "Add");
}

}  // namespace
}  // namespace onnxkit::tests::checker_fix
