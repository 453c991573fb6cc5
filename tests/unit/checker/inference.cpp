#include "checker/infer/inference.h"

#include <doctest/doctest.h>

#include "tests/unit/support/models.h"

namespace onnxkit::tests::checker_inference {

using namespace checker;

namespace {

struct Inferred {
  ir::Model model;
  InferredModel info;
  std::vector<Diagnostic> findings;

  std::string type(std::string_view name) const {
    const ValueInfo* found = info.find(*model.graph, model.graph->find(name));
    return found ? to_string(found->type, info.dims) : "no such value";
  }
};

Inferred inferred(std::string_view text, InferenceOptions options = {}) {
  ir::Model model = parse_ir(text);
  Collector collector;
  InferredModel info = infer_types(model, spec::OpTable(), options, collector);
  return {std::move(model), std::move(info), collector.take()};
}

TEST_CASE("each call of a function is inferred with its own argument types and attributes") {
  const Inferred result = inferred(R"(
    <ir_version: 10, opset_import: ["": 21, "local": 1]>
    g (float[N, 8] x, double[3, M] z) => (float[] a, double[] b) {
      a = local.Swap <p = [1, 0]> (x)
      b = local.Swap <p = [0, 1]> (z)
    }
    <domain: "local", opset_import: ["": 21]>
    Swap <p> (v) => (w) {
      w = Transpose <perm: ints = @p> (v)
    })");
  CHECK(result.findings.empty());
  CHECK(result.type("a") == "float[8, N]");
  CHECK(result.type("b") == "double[3, M]");
}

TEST_CASE("the branches of If are merged, and a constant condition takes one") {
  constexpr std::string_view text = R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (bool c, float[N, 4] x) => (float[] y, float[] z) <bool yes = {1}> {
      y = If (c) <then_branch = t () => (float[] p) { p = Relu(x) }, else_branch = e () => (float[] q) { q = Concat <axis = 0> (x, x) }>
      z = If (yes) <then_branch = u () => (float[] r) { r = Relu(x) }, else_branch = f () => (float[] s) { s = ReduceSum <keepdims = 0> (x) }>
    })";
  const Inferred result = inferred(text);
  CHECK(result.findings.empty());
  const ValueInfo* y = result.info.find(*result.model.graph, result.model.graph->find("y"));
  REQUIRE(y->type.shape);
  CHECK(result.info.dims.has_origin((*y->type.shape)[0], ir::SymbolOrigin::data_dependent));
  CHECK((*y->type.shape)[1].is(4));
  CHECK(result.type("z") == "float[N, 4]");
}

TEST_CASE("what changes in a loop becomes a symbol, what does not stays; scan outputs count iterations") {
  const Inferred result = inferred(R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (float[2, 3] x) => (float[] grown, float[] same, float[] all) <int64 trips = {5}> {
      grown, same, all = Loop (trips, , x, x) <body = b (int64 i, bool k, float[] p, float[] q) => (bool k2, float[] p2, float[] q2, float s) {
        k2 = Identity(k)
        p2 = Concat <axis = 0> (p, q)
        q2 = Neg(q)
        s = ReduceSum <keepdims = 0> (q)
      }>
    })");
  CHECK(result.findings.empty());
  CHECK(result.type("same") == "float[2, 3]");
  CHECK(result.type("all") == "float[5]");
  const ValueInfo* grown = result.info.find(*result.model.graph, result.model.graph->find("grown"));
  REQUIRE(grown->type.shape);
  CHECK(result.info.dims.has_origin((*grown->type.shape)[0], ir::SymbolOrigin::data_dependent));
  CHECK((*grown->type.shape)[1].is(3));
}

TEST_CASE("sizes flow through shape arithmetic into Reshape, and --dim replaces names") {
  constexpr std::string_view text = R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (float[N, C, H, W] x) => (float[] y) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] minus = {-1}> {
      s = Shape(x)
      n = Slice(s, zero, one)
      t = Concat <axis = 0> (n, minus)
      y = Reshape(x, t)
    })";
  CHECK(inferred(text).type("y") == "float[N, C*H*W]");
  CHECK(inferred(text, {.dim_values = {{"C", 3}, {"H", 4}, {"W", 5}}, .external_bytes = {}}).type("y") ==
        "float[N, 60]");
}

TEST_CASE("a sequence that starts empty takes the type of what is put in") {
  const Inferred result = inferred(R"(
    <ir_version: 10, opset_import: ["": 21]>
    g (float[N, 3] x) => (float[] stacked, int64 count) {
      s0 = SequenceEmpty()
      s1 = SequenceInsert(s0, x)
      s2 = SequenceInsert(s1, x)
      stacked = ConcatFromSequence <axis = 0, new_axis = 1> (s2)
      count = SequenceLength(s2)
    })");
  CHECK(result.findings.empty());
  CHECK(result.type("s2") == "seq(float[N, 3])");
  CHECK(result.type("stacked") == "float[2, N, 3]");
}

TEST_CASE("the default of an input decides a shape only when it is assumed") {
  constexpr std::string_view graph = R"(
    main (float[2, 3] x, int64[2] shape) => (float[] y) <int64[2] shape = {3, 2}> {
      y = Reshape (x, shape)
    })";
  const std::string version_8 = R"(<ir_version: 8, opset_import: ["": 17]>)" + std::string(graph);
  const Inferred open = inferred(version_8);
  CHECK(open.type("y") != "float[3, 2]");
  CHECK(open.info.assumed.empty());
  InferenceOptions options;
  options.assume_defaults = true;
  const Inferred assumed = inferred(version_8, options);
  CHECK(assumed.type("y") == "float[3, 2]");
  CHECK(assumed.info.assumed == std::vector<std::string>{"shape"});
  // Before IR version 4 every initializer was an input too, and a constant.
  const Inferred constant = inferred(R"(<ir_version: 3, opset_import: ["": 17]>)" + std::string(graph));
  CHECK(constant.type("y") == "float[3, 2]");
}

TEST_CASE("bodies nested without end are bounded by the budget") {
  std::string text =
      "<ir_version: 10, opset_import: [\"\": 21, \"local\": 1]>\ng (float[2] x) => (float[] y) { y = local.f30(x) }\n";
  for (int i = 30; i > 0; --i) {
    const std::string self = "f" + std::to_string(i), next = "local.f" + std::to_string(i - 1);
    text += "<domain: \"local\", opset_import: [\"\": 21, \"local\": 1]>\n" + self + " (a) => (c) { b = " + next +
            "(a)\n c = " + next + "(b) }\n";
  }
  text += "<domain: \"local\", opset_import: [\"\": 21]>\nf0 (a) => (b) { b = Relu(a) }\n";
  InferenceOptions options;
  options.extra_node_budget = 10'000;
  CHECK(inferred(text, options).info.budget_exhausted);
}

}  // namespace
}  // namespace onnxkit::tests::checker_inference
