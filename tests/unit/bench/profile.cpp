// Steps of a backend: which nodes of the model they compute, what that costs, and the least time that the machine needs for it.
#include "libonnxkit/bench/profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/bench/roof.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/plan/view.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::bench_profile {
namespace {

using benching::StepCost;

const std::string convolution =
    "g (float[1, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[1, 4, 6, 6] y) {"
    " [conv] c = Conv (x, w) [act] r = Relu (c) [last] y = Neg (r) }";

std::vector<std::string> ops_of(const exec::RunProfile& profile) {
  std::vector<std::string> ops;
  for (const exec::StepTime& step : profile.steps) ops.push_back(step.op);
  return ops;
}

exec::StepTime step(std::string name, std::string op, std::vector<std::string> covers) {
  return {.name = std::move(name), .op = std::move(op), .covers = std::move(covers), .spans = {{.seconds = 1}}};
}

std::vector<StepCost> costs(const std::string& graph, const std::vector<NamedValue>& inputs,
                            const std::vector<exec::StepTime>& steps) {
  const Model model = parse_model(opset_17 + graph);
  return benching::step_costs(model.ir(), Context().table(), inputs, steps);
}

std::vector<NamedValue> image() {
  return {{"x", floats({1, 3, 8, 8}, std::vector<float>(192))}, {"w", floats({4, 3, 3, 3}, std::vector<float>(108))}};
}

}  // namespace

TEST_CASE("steps of single nodes have the cost of their node") {
  const auto found = costs(convolution, image(), {step("conv", "Conv", {"conv"}), step("act", "Relu", {"r"})});
  CHECK(found[0].nodes == std::vector<std::string>{"conv"});
  CHECK(found[0].operations == 2 * 144 * 27);
  CHECK(found[0].bytes == 4 * (192 + 108 + 144));
  CHECK(found[1].nodes == std::vector<std::string>{"act"});
  CHECK(found[1].operations == 0);
  CHECK(found[1].bytes == 4 * 2 * 144);
}

TEST_CASE("a step called after the last of the nodes that it fuses has the others, too") {
  const auto found =
      costs(convolution, image(), {step("act_nchwc", "Conv", {"act_nchwc", "act"}), step("n", "Neg", {"y"})});
  CHECK(found[0].nodes == std::vector<std::string>{"conv", "act"});
  CHECK(found[0].operations == 2 * 144 * 27);
  CHECK(found[0].bytes == 4 * (192 + 108 + 144));
  CHECK(found[1].nodes == std::vector<std::string>{"last"});
}

TEST_CASE("a step called after the first of the nodes that it fuses has the others, too") {
  const auto found = costs(convolution, image(), {step("conv", "FusedConv", {"conv"})});
  CHECK(found[0].nodes == std::vector<std::string>{"conv", "act", "last"});
}

TEST_CASE("a step takes one product at most of those that nobody names") {
  const auto found =
      costs("g (float[2, 2] x) => (float[2, 2] y) { [a] p = MatMul (x, x) [b] q = MatMul (p, p) [c] y = Relu (q) }",
            {{"x", floats({2, 2}, {1, 2, 3, 4})}}, {step("c", "FusedMatMul", {"c"})});
  CHECK(found[0].nodes == std::vector<std::string>{"b", "c"});
}

TEST_CASE("of steps that share a node the one that multiplies has its work, else the longest") {
  exec::StepTime copy = step("conv", "copy", {"conv"}), product = step("conv", "convolution", {"conv"});
  copy.spans[0].seconds = 2;
  CHECK(costs(convolution, image(), {copy, product})[0].operations == 2 * 144 * 27);
  product.products = 1;
  const auto found = costs(convolution, image(), {copy, product});
  CHECK(!found[0].operations);
  CHECK(found[1].operations == 2 * 144 * 27);
}

TEST_CASE("steps that multiply for one node share its work as they divide the products") {
  exec::StepTime longer = step("conv", "convolution", {"conv", "act"}), shorter = longer;
  const exec::StepTime copy = step("conv", "copy", {"conv"});
  longer.spans[0].seconds = 2;
  longer.products = 1;
  shorter.products = 3;
  const auto found = costs(convolution, image(), {copy, shorter, longer});
  CHECK(found[0].nodes.empty());
  CHECK(!found[0].operations);
  CHECK(found[1].nodes == std::vector<std::string>{"conv", "act"});
  CHECK(found[1].operations == 0.75 * 2 * 144 * 27);
  CHECK(!found[1].bytes);
  CHECK(found[2].nodes == found[1].nodes);
  CHECK(found[2].operations == 0.25 * 2 * 144 * 27);
}

TEST_CASE("steps that write parts of one node tell their bytes themselves") {
  exec::StepTime written = step("r + join", "map", {"r", "join"}), copied = step("join", "copy", {"join"});
  const auto join = [&] {
    return costs("g (float[4] a, float[4] b) => (float[8] y) { [r] c = Relu (a) [join] y = Concat <axis = 0> (c, b) }",
                 {{"a", floats({4}, {1, 2, 3, 4})}, {"b", floats({4}, {1, 2, 3, 4})}}, {written, copied});
  };
  CHECK(join()[1].bytes == 4 * 2 * 8);
  written.bytes = copied.bytes = 32;
  CHECK(!join()[1].bytes);
}

TEST_CASE("a step is that of the node of its name, not of the node that writes a value of that name") {
  const auto found =
      costs("g (float[2, 3] x, float[3, 4] w) => (float[2, 4] a) { [a] b = Relu (x) [b] a = MatMul (b, w) }",
            {{"x", floats({2, 3}, std::vector<float>(6))}, {"w", floats({3, 4}, std::vector<float>(12))}},
            {step("a", "Relu", {"a"}), step("b", "MatMul", {"b"})});
  CHECK(found[0].nodes == std::vector<std::string>{"a"});
  CHECK(found[0].operations == 0);
  CHECK(found[1].nodes == std::vector<std::string>{"b"});
  CHECK(found[1].operations == 2 * 24);
}

TEST_CASE("nobody knows what a loop multiplies") {
  const auto found = costs(
      "g (float[2, 2] x) => (float[2, 2] y) <int64 n = {3}, bool c = {1}> {"
      " [loop] y = Loop (n, c, x) <body = b (int64 i, bool go, float[2, 2] v) => (bool on, float[2, 2] w)"
      " { on = Identity (go) w = MatMul (v, v) }> }",
      {{"x", floats({2, 2}, {1, 2, 3, 4})}}, {step("loop", "Loop", {"loop"})});
  CHECK(found[0].nodes == std::vector<std::string>{"loop"});
  CHECK(!found[0].operations);
}

TEST_CASE("a fused step of a quantized model reads and writes what is quantized") {
  const std::string graph =
      "g (float[1, 3, 8, 8] x, int8[4, 3, 3, 3] w) => (float[1, 4, 6, 6] y, float[1, 4, 6, 6] z)"
      " <float s = {0.1}, int8 o = {0}, uint8 p = {0}> {"
      " [in] a = QuantizeLinear (x, s, p) [out] b = DequantizeLinear (a, s, p) [weight] v = DequantizeLinear (w, s, o)"
      " [conv] c = Conv (b, v) [act] r = Relu (c) [in2] d = QuantizeLinear (r, s, p)"
      " [out2] e = DequantizeLinear (d, s, p) [left] y = Neg (e) [right] z = Abs (e) }";
  const auto found = costs(graph, {},
                           {step("in", "QuantizeLinear", {"in"}), step("conv", "QLinearConv", {"conv"}),
                            step("left", "QLinearNeg", {"left"}), step("right", "Abs", {"right"})});
  CHECK(found[1].nodes == std::vector<std::string>{"out", "weight", "conv", "act", "in2"});
  CHECK(found[1].bytes == 192 + 108 + 4 + 1 + 1 + 144);
  CHECK(found[2].bytes == (144 + 4 + 1) + 4 * 144);  // two steps read it, and none of them is its only reader
}

TEST_CASE("a product has no part of another that it rounds its results for") {
  exec::StepTime first = step("a + b", "product", {"a", "b"}), second = step("b + c", "product", {"b", "c"}),
                 third = step("c", "product", {"c"}), pool = step("d", "pool", {"d"});
  first.products = 900;
  second.products = third.products = 1;
  third.covers.push_back("d");
  const auto found = costs(
      "g (float[2, 2] x) => (float[2, 2] y) {"
      " [a] p = MatMul (x, x) [b] q = MatMul (p, p) [c] r = MatMul (q, q) [d] y = Relu (r) }",
      {}, {first, second, third, pool});
  CHECK(found[0].nodes == std::vector<std::string>{"a"});
  CHECK(found[1].nodes == std::vector<std::string>{"b"});
  CHECK(found[2].nodes == std::vector<std::string>{"c"});
  CHECK(found[3].nodes == std::vector<std::string>{"d"});
  for (std::size_t i = 0; i < 3; ++i) CHECK(found[i].operations == 2 * 8);
}

TEST_CASE("a node without a name is called after its first output that is there") {
  const std::string graph =
      R"(g (float[1,1,2] x, float[1,2,2] w) => (float[1,1,2] h) { "", h = RNN <hidden_size = 2> (x, w, w) })";
  const std::vector<NamedValue> inputs = {{"x", floats({1, 1, 2}, {1, 2})}, {"w", floats({1, 2, 2}, {1, 2, 3, 4})}};
  CHECK(costs(graph, inputs, {step("h", "RNN", {"h"})})[0].nodes == std::vector<std::string>{"h"});
  const auto owner = std::make_shared<const Model>(parse_model(opset_17 + graph));
  for (const char* backend : {"reference", "cpu"}) {
    CAPTURE(backend);
    const auto session = all_backends().find(backend, {})->make({})->load({.model = {owner, &owner->ir()}}, {});
    REQUIRE(session);
    const auto profile = (*session)->profile({.inputs = inputs});
    REQUIRE(profile);
    const exec::StepTime& one = profile->steps.front();
    CHECK(one.name.starts_with("h"));
    CHECK(one.covers.front() == "h");
  }
}

TEST_CASE("a plan counts the rows of a table that a step looks up") {
  const auto owner = std::make_shared<const Model>(
      parse_model(opset_17 + "g (float[1000, 4] t, int64[2] i) => (float[2, 4] y) { y = Gather (t, i) }"));
  const auto session = all_backends().find("cpu", {})->make({})->load({.model = {owner, &owner->ir()}}, {});
  REQUIRE(session);
  const auto profile =
      (*session)->profile({.inputs = {{"t", floats({1000, 4}, std::vector<float>(4000))}, {"i", integers({5, 7})}}});
  REQUIRE(profile);
  CHECK(profile->steps.front().bytes == 32 + 16 + 32);
}

TEST_CASE("steps of a plan have the work of the nodes in whose place passes put others") {
  struct Case {
    std::string graph;
    std::vector<std::string> nodes;  ///< of the steps that multiply
    std::vector<double> products;
  };
  const Case cases[] = {
      {R"(g (float[2,8,16] a, float[2,16,4] b) => (float[2,8,4] y) { [e] y = Einsum <equation = "bij,bjk->bik"> (a, b) })",
       {"e"},
       {2 * 8 * 4 * 16}},
      {"g (float[2,8] a, float[8,4] b) => (float[2,4] y) { [call] y = local.twice (a, b) }"
       R"(<domain: "local", opset_import: ["" : 23]> twice (p, q) => (s) { r = MatMul (p, q) s = Mul (r, r) })",
       {"call"},
       {}},
      {"g (float[2,8] a, float[8,4] b) => (float[2,4] y) { [call] y = com.microsoft.FusedMatMul <alpha = 2.0> (a, b) }",
       {"call"},
       {2 * 8 * 4}},
      // A filter of 3 x 3 in steps of 2 is convolved by 4, 2, 2 and 1 of its taps.
      {"g (float[1,1,4,4] a) => (float[1,1,9,9] y) <float[1,1,3,3] b = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {"
       " [up] y = ConvTranspose <strides = [2, 2]> (a, b) }",
       {"up", "up", "up", "up"},
       {144 * 100.0 / 196, 144 * 40.0 / 196, 144 * 40.0 / 196, 144 * 16.0 / 196}},
      {"g (float[2,8] a, float[8,4] b, float[8,4] c) => (float[2,4] x, float[2,4] y) {"
       " [same] x = MatMul (a, b) [same] y = MatMul (a, c) }",
       {"same", "same"},
       {2 * 8 * 4, 2 * 8 * 4}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.graph);
    const auto owner = std::make_shared<const Model>(
        parse_model(R"(<ir_version: 11, opset_import: ["" : 23, "com.microsoft" : 1, "local" : 1]>)" + one.graph));
    const auto session = all_backends().find("cpu", {})->make({})->load({.model = {owner, &owner->ir()}}, {});
    REQUIRE(session);
    std::vector<NamedValue> inputs;
    for (const exec::ValueDesc& input : (*session)->inputs()) {
      const auto count = static_cast<std::size_t>(plan::element_count(input.dims));
      inputs.push_back({input.name, floats(input.dims, std::vector<float>(count, 1))});
    }
    const auto profile = (*session)->profile({.inputs = inputs});
    REQUIRE(profile);
    const auto found = benching::step_costs(owner->ir(), Context().table(), inputs, profile->steps);
    std::vector<std::string> nodes;
    std::vector<double> products;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (profile->steps[i].products <= 0) continue;
      nodes.insert(nodes.end(), found[i].nodes.begin(), found[i].nodes.end());
      if (found[i].operations) products.push_back(*found[i].operations / 2);
    }
    CHECK(nodes == one.nodes);
    REQUIRE(products.size() == one.products.size());
    std::sort(products.rbegin(), products.rend());
    for (std::size_t i = 0; i < products.size(); ++i) CHECK(products[i] == doctest::Approx(one.products[i]));
  }
}

TEST_CASE("what operators multiply is known from their shapes") {
  struct Case {
    std::string graph;
    double products;
  };
  const Case cases[] = {
      {"g (float[2,3,4,8] x, float[2,3,5,8] k, float[2,3,5,6] v) => (float[2,3,4,6] y) { [n] y = Attention (x, k, v) }",
       2 * 3 * 4 * 5 * 8 + 2 * 3 * 4 * 5 * 6},
      {"g (float[2,4,24] x, float[2,5,24] k, float[2,5,18] v) => (float[2,4,18] y) {"
       " [n] y = Attention <q_num_heads = 3, kv_num_heads = 3> (x, k, v) }",
       2 * 3 * 4 * 5 * 8 + 2 * 3 * 4 * 5 * 6},
      {R"(g (float[2,3,4] x, float[2,4,5] k) => (float[2,5,3] y) { [n] y = Einsum <equation = "bij,bjk->bki"> (x, k) })",
       2 * 3 * 4 * 5},
      {R"(g (float[2,3,4] x, float[4,5] k) => (float[2,3,5] y) { [n] y = Einsum <equation = "...j, jk"> (x, k) })",
       2 * 3 * 4 * 5},
      {"g (float[4,3] x, float[4,5] k) => (y) { [n] y = com.microsoft.FusedMatMul <transA = 1> (x, k) }", 3 * 4 * 5},
      {"g (float[2,4,24] x, float[2,5,24] k, float[2,5,24] v) => (y) {"
       " [n] y = com.microsoft.MultiHeadAttention <num_heads = 3> (x, k, v) }",
       2 * 2 * 4 * 5 * 24},
      {"g (float[2,4,6] x, float[6,18] k, float[18] b) => (y) { [n] y = com.microsoft.Attention <num_heads = 3> (x, k, "
       "b) }",
       2 * 4 * 6 * 18 + 2 * 2 * 4 * 4 * 6},
      {R"(g (float[3,4] x, float[3,5] r, float[5,12,4] w, float[5,4,6] v) => (y) {
          [n] y = com.microsoft.MoE <k = 2, activation_type = "swiglu", swiglu_fusion = 1> (x, r, w, "", v) })",
       3 * 2 * (4 * 12 + 6 * 4)},
      {R"(g (float[3,4] x, float[3,5] r, uint8[5,6,2] w, float[5,6] s, uint8[5,4,3] v, float[5,4] t) => (y) {
          [n] y = com.microsoft.QMoE <k = 2> (x, r, w, s, "", v, t) })",
       3 * 2 * (4 * 6 + 6 * 4)},
  };
  for (const Case& one : cases) {
    CAPTURE(one.graph);
    const Model model = parse_model(R"(<ir_version: 11, opset_import: ["" : 23, "com.microsoft" : 1]>)" + one.graph);
    const auto found = benching::step_costs(model.ir(), Context().table(), {}, std::vector{step("n", "N", {"n"})});
    CHECK(found[0].operations == 2 * one.products);
  }
}

TEST_CASE("a step that covers nothing of the model costs nothing that is known") {
  const auto found = costs(convolution, image(), {step("reorder", "Reorder", {}), step("other", "Other", {"no such"})});
  for (const StepCost& cost : found) {
    CHECK(cost.nodes.empty());
    CHECK(!cost.operations);
    CHECK(!cost.bytes);
  }
}

TEST_CASE(
    "a node without a name is found by its place among those that are no Constant, where its operator is the step's") {
  const std::string graph =
      "g (float[2] x) => (float[2] y) { k = Constant <value_float = 1.0> () p = Neg (x) y = Abs (p) }";
  exec::StepTime right = step("Neg_0", "Neg", {"Neg_0"}), wrong = step("Neg_1", "Neg", {}),
                 none = step("Neg_2", "Neg", {});
  right.place = 0;
  wrong.place = 1;
  none.place = 1'000'000'000'000;
  const auto found = costs(graph, {{"x", floats({1, 2})}}, {right, wrong, none});
  CHECK(found[0].nodes == std::vector<std::string>{"p"});
  CHECK(found[1].nodes.empty());
  CHECK(found[2].nodes.empty());
}

TEST_CASE("of what a step reads only what it looks at counts") {
  struct Case {
    std::string graph;
    double bytes;
  };
  const Case cases[] = {
      {"g (float[1000,4] t, int64[2] i) => (float[2,4] y) { [n] y = Gather (t, i) }", 32 + 16 + 32},
      {"g (float[4,1000] t, int64[2] i) => (float[4,2] y) { [n] y = Gather <axis = 1> (t, i) }", 32 + 16 + 32},
      {"g (float[1000,4] t, int64[2,1] i) => (float[2,4] y) { [n] y = GatherND (t, i) }", 32 + 16 + 32},
      {"g (float[1000,4] t, int64[2,4] i) => (float[2,4] y) { [n] y = GatherElements (t, i) }", 32 + 64 + 32},
      {"g (float[1000,4] x) => (float[5,4] y) <int64[1] s = {0}, int64[1] e = {5}> { [n] y = Slice (x, s, e) }",
       80 + 16 + 80},
      {"g (float[1000,4] x) => (a, b) <int64[2] s = {400, 600}> { [n] a, b = Split <axis = 0> (x, s) }",
       16000 + 16 + 16000},
      {R"(g (float[1000,4] x) => (a) <int64[2] s = {1, 999}> { [n] a, "" = Split <axis = 0> (x, s) })", 16 + 16 + 16},
      {"g (float[1000,4] x) => (int64[2] y) { [n] y = Shape (x) }", 16},
      {"g (float[1000,4] x) => (int64 y) { [n] y = Size (x) }", 8},
      {"g (float[1,4] x) => (float[1000,4] y) <int64[2] s = {1000, 4}> { [n] y = Expand (x, s) }", 16 + 16 + 16000},
      {"g (float[1000,4] x) => (float16[1000,4] y) { [n] y = Cast <to = 10> (x) }", 16000 + 8000},
      {"g (float[1000,4] x, float[1,4] z) => (y) { [n] y = Concat <axis = 0> (x, z) }", 2 * (16000 + 16)},
      // What only has another shape then is where it was.
      {"g (float[1000,4] x) => (float[4000] y) <int64[1] s = {-1}> { [n] y = Reshape (x, s) }", 8},
      {"g (float[1000,4] x) => (float[1,1000,4] y) <int64[1] a = {0}> { [n] y = Unsqueeze (x, a) }", 8},
      {"g (float[1000,4] x) => (y) { [n] y = Flatten (x) }", 0},
      {"g (float[1000,4] x) => (y) { [n] y = Identity (x) }", 0},
  };
  for (const Case& one : cases) {
    CAPTURE(one.graph);
    CHECK(costs(one.graph, {}, {step("n", "N", {"n"})})[0].bytes == one.bytes);
  }
}

TEST_CASE("a step that fuses a view reads and writes what is on its other side") {
  const std::string graph =
      "g (float[2, 8] x, float[16, 4] w) => (float[4] y) <int64[2] s = {1, 16}, int64[1] t = {4}> {"
      " [before] a = Reshape (x, s) [product] p = MatMul (a, w) [behind] y = Reshape (p, t) }";
  const auto found = costs(graph, {}, {step("n", "N", {"before", "product", "behind"})});
  CHECK(found[0].bytes == 64 + 16 + 256 + 8 + 16);
}

TEST_CASE("sizes that only the inputs tell are known") {
  const auto found = costs("g (float[n, m] x) => (float[n, m] y) { y = Neg (x) }",
                           {{"x", floats({2, 3}, std::vector<float>(6))}}, {step("y", "Neg", {"y"})});
  CHECK(found[0].bytes == 48);
}

TEST_CASE("a step has no floor where it may multiply nobody knows how much") {
  const BenchRoof roof{.operations_per_second = 100, .bytes_per_second = 10, .threads = 1};
  exec::RunProfile profile{.steps = {step("a", "MatMul", {}), step("b", "copy", {}), step("c", "product", {})},
                           .walls = {1}};
  profile.steps[2].products = 1000;
  const auto found = benching::profile_of(profile,
                                          {{.nodes = {"a"}, .operations = {}, .bytes = 20},
                                           {.nodes = {}, .operations = {}, .bytes = 20},
                                           {.nodes = {"c"}, .operations = {}, .bytes = 20}},
                                          roof);
  CHECK(!found.steps[0].floor);
  CHECK(found.steps[1].floor == 2);
  CHECK(found.steps[2].operations == 2000);  // as the backend says
  CHECK(found.steps[2].floor == 20);
}

TEST_CASE("the floor of a step is what the machine needs for its arithmetic or its memory") {
  exec::RunProfile times;
  times.walls = {3, 5, 4};
  times.steps = {{.name = "a", .op = "A", .spans = {{0.0, 1}, {0.0, 3}, {0.5, 2}}},
                 {.name = "b", .op = "B", .bytes = 50, .spans = {{{}, 1}, {{}, 1}, {{}, 4}}}};
  const BenchProfile profile = benching::profile_of(times, {{{"n"}, 200.0, 10.0}, {}}, BenchRoof{100, 10, 1});
  CHECK(profile.seconds == 4);
  CHECK(profile.runs == 3);
  REQUIRE(profile.steps.size() == 2);
  CHECK(profile.steps[0].seconds == 2);
  CHECK(profile.steps[0].start == 0.5);
  CHECK(profile.steps[0].last == 2);
  CHECK(profile.steps[0].floor == 2);
  CHECK(profile.steps[1].start == 2.5);  // behind the one before, where the backend does not tell
  CHECK(profile.steps[1].bytes == 50);
  CHECK(profile.steps[1].floor == 5);
  CHECK(!benching::profile_of(times, {}, std::nullopt).steps[1].floor);
}

TEST_CASE("a backend with times by node tells steps, those of branches without their own names") {
  const std::string branches =
      "g (float[4] x, bool b) => (float[4] z) { y = If (b) <then_branch = t () => (float[4] u) { u = Neg (x) },"
      " else_branch = e () => (float[4] v) { v = Abs (x) }> z = Relu (y) }";
  const auto owner = std::make_shared<const Model>(parse_model(opset_17 + branches));
  const auto backend = all_backends().find("reference", {})->make({});
  const auto session = backend->load({.model = {owner, &owner->ir()}}, {});
  REQUIRE(session);
  const std::vector<NamedValue> inputs = {{"x", floats({1, 2, 3, 4})},
                                          {"b", stored<std::uint8_t>(ElementType::boolean, {}, {1})}};
  const auto profile = (*session)->profile({.inputs = inputs, .repeat = 3, .warmup = 1});
  REQUIRE(profile);
  CHECK(profile->walls.size() == 3);
  REQUIRE(profile->steps.size() == 3);
  CHECK(profile->steps[0].op == "Neg");
  CHECK(profile->steps[0].covers.empty());
  CHECK(profile->steps[1].op == "If");
  CHECK(profile->steps[1].covers == std::vector<std::string>{"y"});
  for (const exec::StepTime& one : profile->steps) {
    CHECK(one.calls == 1);
    CHECK(one.spans.size() == 3);
  }
}

TEST_CASE("what a loop repeats is one step with its calls") {
  const std::string loop =
      "g (float[2] x) => (float[2] y) <int64 n = {5}, bool c = {1}> { y = Loop (n, c, x) <body = b (int64 i, bool on, "
      "float[2] s)"
      " => (bool go, float[2] t) { go = Identity (on) t = Neg (s) }> }";
  const auto owner = std::make_shared<const Model>(parse_model(opset_17 + loop));
  const auto session = all_backends().find("reference", {})->make({})->load({.model = {owner, &owner->ir()}}, {});
  REQUIRE(session);
  const auto profile = (*session)->profile({.inputs = {{"x", floats({1, 2})}}, .repeat = 2});
  REQUIRE(profile);
  REQUIRE(profile->steps.size() == 3);
  CHECK(profile->steps[0].calls == 5);
  CHECK(profile->steps[1].calls == 5);
  CHECK(profile->steps[2].calls == 1);
}

TEST_CASE("plans tell the steps of bodies, without the nodes' names of the main graph") {
  const std::string loop =
      "g (float[64,64] x, int64 n) => (float[64,64] y) <bool c = {1}> { y = Loop (n, c, x) <body = b (int64 i, bool "
      "on, float[64,64] s) => (bool go, float[64,64] t) { go = Identity (on) p = MatMul (s, x) d = Cast <to = 1> (i) "
      "t = Div (p, d) }> }";
  const auto owner = std::make_shared<const Model>(parse_model(opset_17 + loop));
  const auto session = all_backends().find("cpu", {})->make({})->load({.model = {owner, &owner->ir()}}, {});
  REQUIRE(session);
  const std::vector<NamedValue> inputs = {{"x", floats({64, 64}, std::vector<float>(4096, 1))},
                                          {"n", integers({}, {5})}};
  const auto profile = (*session)->profile({.inputs = inputs, .repeat = 2});
  REQUIRE(profile);
  REQUIRE(ops_of(*profile) == std::vector<std::string>{"map", "product", "host Loop", "copy"});
  const exec::StepTime &product = profile->steps[1], &whole = profile->steps[2];
  CHECK(product.name == "p + t + output t");
  CHECK(product.covers.empty());
  CHECK(product.calls == 5);
  CHECK(product.products == 5 * 64 * 64 * 64);
  CHECK(product.spans.size() == 2);
  CHECK(whole.covers == std::vector<std::string>{"y"});
  CHECK(whole.calls == 1);
  CHECK(product.spans[0].seconds + whole.spans[0].seconds < profile->walls[0]);
  REQUIRE(product.spans[0].start);
  CHECK(*product.spans[0].start > *whole.spans[0].start);
}

TEST_CASE("what the reference runs inside a step of a plan is told by nodes") {
  const std::string loop =
      "g (float[2] x) => (float[2] y) <int64 n = {3}, bool c = {1}> { a = Neg (x) y = Loop (n, c, a) <body = b (int64 "
      "i, bool on, float[2] s) => (bool go, float[2] t) { go = Identity (on) r = RandomNormal <shape = [2]> () "
      "t = Add (s, r) }> }";
  const auto owner = std::make_shared<const Model>(parse_model(opset_17 + loop));
  const auto session = all_backends().find("cpu", {})->make({})->load({.model = {owner, &owner->ir()}}, {});
  REQUIRE(session);
  const auto profile = (*session)->profile({.inputs = {{"x", floats({1, 2})}}});
  REQUIRE(profile);
  REQUIRE(ops_of(*profile) == std::vector<std::string>{"map", "Identity", "RandomNormal", "Add", "host Loop", "copy"});
  CHECK(profile->steps[2].calls == 3);
}

TEST_CASE("a plan without steps says so") {
  const auto owner =
      std::make_shared<const Model>(parse_model(opset_17 + "g (float[0] x) => (float[0] y) { y = Relu (x) }"));
  const auto session = all_backends().find("cpu", {})->make({})->load({.model = {owner, &owner->ir()}}, {});
  REQUIRE(session);
  const auto profile = (*session)->profile({.inputs = {{"x", floats({0}, {})}}});
  REQUIRE(!profile);
  CHECK(profile.error().diagnostic.message == "the plan has no steps");
}

TEST_CASE("recorded outputs have no steps") {
  const auto session = all_backends().find("recorded", {})->make({})->load({.recorded = {{{"y", floats({1})}}}}, {});
  REQUIRE(session);
  const auto profile = (*session)->profile({});
  REQUIRE(!profile);
  CHECK(profile.error().diagnostic.code == "not-supported");
}

TEST_CASE("the machine's peak is more than nothing") {
  const BenchRoof roof = benching::measure_roof(1);
  CHECK(roof.threads == 1);
  CHECK(roof.operations_per_second > 1e8);
  CHECK(roof.bytes_per_second > 1e7);
  CHECK(std::isfinite(roof.operations_per_second));
  CHECK(benching::measure_roof(100000).threads == usable_cores());
}

}  // namespace onnxkit::tests::bench_profile
