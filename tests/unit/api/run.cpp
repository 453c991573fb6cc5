#include "onnxkit/run.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/unit/support/models.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::api_run {
namespace {

const std::string sum = opset_17 + "main (float[2] a, float[2] b) => (float[2] y) { c = Add (a, b) y = Mul (c, c) }";
const std::string endless =
    opset_17 +
    "main (float[1] x) => (float[1] y) { y = Loop (, , x) <body = body (int64 i, bool go, float[1] a) => "
    "(bool again, float[1] b) { again = Identity (go) b = Add (a, a) }> }";

}  // namespace

TEST_CASE("run: inputs by name, in any order") {
  const Model model = parse_model(sum);
  const auto report = run(model, {{"b", floats({3, 4})}, {"a", floats({1, 2})}});
  REQUIRE(report);
  CHECK(to_reals(report->outputs[0].value.tensor) == std::vector<double>{16, 36});
  CHECK(report->inputs[0].origin == "given");
}

TEST_CASE("run: NaN and infinities go through") {
  const Model model = parse_model(sum);
  const float infinity = std::numeric_limits<float>::infinity();
  const auto report = run(model, {{"a", floats({infinity, std::nanf("")})}, {"b", floats({-infinity, 1})}});
  REQUIRE(report);
  const auto y = to_reals(report->outputs[0].value.tensor);
  CHECK(std::isnan(y[0]));
  CHECK(std::isnan(y[1]));
}

TEST_CASE("run: what does not fit an input is told") {
  const Model model = parse_model(sum);
  CHECK(code_of(run(model, {{"c", floats({1, 2})}})) == "unknown-input");
  CHECK(code_of(run(model, {{"a", floats({1, 2, 3})}})) == "input-shape");
  CHECK(code_of(run(model, {{"a", *Tensor::from_strings({2}, {"x", "y"})}})) == "input-type");
  CHECK(code_of(run(model, {{"a", Value::sequence({})}})) == "input-type");
  RunOptions given_only;
  given_only.make_up_inputs = false;
  CHECK(code_of(run(model, {}, given_only)) == "input-missing");
}

TEST_CASE("run: the same seed makes the same inputs up") {
  const Model model = parse_model(sum);
  RunOptions options;
  options.seed = 7;
  const auto once = run(model, {}, options), again = run(model, {}, options);
  options.seed = 8;
  const auto other = run(model, {}, options);
  REQUIRE(once);
  REQUIRE(again);
  REQUIRE(other);
  CHECK(to_reals(once->inputs[0].value.tensor) == to_reals(again->inputs[0].value.tensor));
  CHECK(to_reals(once->inputs[0].value.tensor) != to_reals(other->inputs[0].value.tensor));
}

TEST_CASE("run: wide keeps what rounding drops") {
  const Model model =
      parse_model(opset_17 + "main (float[1] a, float[1] b) => (float[1] y) { c = Add (a, b) y = Sub (c, a) }");
  const std::vector<NamedValue> inputs = {{"a", floats({1})}, {"b", floats({1e-10f})}};
  const auto rounded = run(model, inputs);
  RunOptions options;
  options.unrounded = true;
  const auto exact = run(model, inputs, options);
  REQUIRE(rounded);
  REQUIRE(exact);
  CHECK(to_reals(rounded->outputs[0].value.tensor)[0] == 0);
  CHECK(exact->outputs[0].value.tensor.type() == ElementType::float64);
  CHECK(to_reals(exact->outputs[0].value.tensor)[0] == doctest::Approx(1e-10));
}

TEST_CASE("run: values inside come as soon as they exist, and may end the run") {
  const Model model = parse_model(sum);
  RunOptions options;
  options.taps = {"c"};
  std::vector<std::string> seen;
  options.on_value = [&](std::string_view name, const Value&) -> Result<void> {
    seen.emplace_back(name);
    return {};
  };
  std::size_t nodes = 0;
  options.on_node = [&](const NodeTime& node) { nodes += node.location.node.has_value(); };
  REQUIRE(run(model, {}, options));
  CHECK(seen == std::vector<std::string>{"c"});
  CHECK(nodes == 2);
  options.on_value = [](std::string_view, const Value&) -> Result<void> {
    return make_error(ErrorKind::cancelled, "enough", "seen enough");
  };
  CHECK(code_of(run(model, {}, options)) == "enough");
  options.taps = {"d"};
  CHECK(code_of(run(model, {}, options)) == "unknown-value");
}

TEST_CASE("run: limits of time, passes and memory") {
  const Model model = parse_model(endless);
  RunOptions options;
  options.limits.time_ms = 20;
  CHECK(code_of(run(model, {}, options)) == "time-limit");
  options = {};
  options.limits.iterations = 10;
  CHECK(code_of(run(model, {}, options)) == "iteration-limit");
  const Model large =
      parse_model(opset_17 + "main () => (float[n] y) <int64[1] n = {1000000000}> { y = ConstantOfShape (n) }");
  options = {};
  options.limits.memory_bytes = 1 << 20;
  CHECK(code_of(run(large, {}, options)) == "memory-limit");
}

TEST_CASE("run: what is collected counts, even where all of it shares one content") {
  const std::string collecting =
      "main (bool go) => (float[n] y) <float c = {1}> { y = Loop (, go) <body = body (int64 i, bool on) => "
      "(bool again, float one) { again = Identity (on) one = Identity (c) }> }";
  const std::string inserting =
      "main (bool go, float c) => (seq(float) y) { s = SequenceEmpty () y = Loop (, go, s) <body = body (int64 i, "
      "bool on, seq(float) a) => (bool again, seq(float) b) { again = Identity (on) b = SequenceInsert (a, c) }> }";
  for (const std::string& text : {collecting, inserting}) {
    RunOptions options;
    options.limits.memory_bytes = 1 << 20;
    options.limits.iterations = 20'000;
    CHECK(code_of(run(parse_model(opset_17 + text), {}, options)) == "memory-limit");
  }
}

TEST_CASE("run: the time limit holds inside kernels") {  // which would take minutes together
  const std::vector<std::string> slow = {
      "main () => (int64[n, n] y) <int64[2] n = {3000, 3000}> { a = ConstantOfShape <value = int64[1] {1}> (n) "
      "y = MatMul (a, a) }",
      "main () => (float[n, n] y) <int64[2] n = {4000, 4000}> { a = ConstantOfShape (n) y = MatMul (a, a) }",
      "main () => (float y) <int64[2] n = {3000, 3000}> { a = ConstantOfShape (n) b = EyeLike (a) y = Det (b) }",
      "main () => (float[1, n, 2] y) <int64[3] n = {1, 1000003, 1}> { x = ConstantOfShape (n) y = DFT (x) }",
      "main () => (int64[n, 3] y) <int64[3] b = {1, 200000, 4}, int64[3] s = {1, 1, 200000}, int64 most = "
      "{1000000000}, "
      "float same = {1}> { boxes = ConstantOfShape (b) scores = ConstantOfShape (s) "
      "y = NonMaxSuppression (boxes, scores, most, same) }",
      "main () => (float[1, 1, h, w] y) <int64[4] n = {1, 1, 1200, 1200}> { x = ConstantOfShape (n) "
      "y = LpPool <kernel_shape = [301, 301], p = 3> (x) }"};
  for (const std::string& text : slow) {
    CAPTURE(text);
    RunOptions options;
    options.limits.time_ms = 20;
    options.limits.threads = 1;
    CHECK(code_of(run(parse_model(opset_17 + text), {}, options)) == "time-limit");
  }
}

TEST_CASE("run: made-up inputs have the sizes that given ones bind") {
  const Model model = parse_model(
      opset_17 + "main (float[N] x, float[N] y, float[\"2*N\"] w) => (float[M] z) { z = Concat <axis = 0> (x, y, w) }");
  const auto report = run(model, {{"y", floats({1, 2, 3})}});
  REQUIRE(report);
  CHECK(report->inputs[0].value.tensor.dims() == std::vector<std::int64_t>{3});
  CHECK(report->inputs[2].value.tensor.dims() == std::vector<std::int64_t>{6});
  CHECK(code_of(run(model, {{"x", floats({1, 2})}, {"y", floats({1, 2, 3})}})) == "input-shape");
  CHECK(code_of(run(model, {{"x", floats({1, 2})}, {"w", floats({1, 2, 3})}})) == "input-shape");
  RunOptions options;
  options.dims = {{"N", 5}};
  CHECK(code_of(run(model, {{"x", floats({1, 2})}}, options)) == "input-shape");
}

TEST_CASE("run: made-up inputs are what nodes ask of them") {
  const std::vector<std::string> texts = {
      // a mask as long as what is cached and what is new
      "main (float[batch, sequence, 4] x, int64[batch, sequence] ids, int64[batch, total] attention_mask, "
      "float[batch, 2, past, 4] past_key) => (float[batch, total] y) <int64[1] one = {1}, int64[3] cut = {0, 0, 0}> { "
      "i = Cast <to = 1> (ids) p = ReduceMean <axes = [1, 3], keepdims = 0> (past_key) both = Concat <axis = 1> (p, i) "
      "m = Cast <to = 1> (attention_mask) y = Add (both, m) }",
      "main (seq(float[]) s, float[2, 3] e) => (float[n, 3] y) { t = SequenceInsert (s, e) y = ConcatFromSequence "
      "<axis "
      "= 0> (t) }",
      "main (seq(float[]) s) => (seq(float[]) y) { y = SequenceMap (s) <body = body (float[n, 3] a) => (float[1, 3] b) "
      "{ b = ReduceMean <axes = [0]> (a) }> }",
      "main (float[7, 2] x, int64[3] parts) => (seq(float) y) { y = SplitToSequence <axis = 0> (x, parts) }",
      "main (float[7, 2] x, int64 part) => (seq(float) y) { y = SplitToSequence <axis = 0> (x, part) }",
      "main (float[7, 2] x, int64[2] parts) => (float[a, 2] y, float[b, 2] z) { y, z = Split <axis = 0> (x, parts) }",
      "main (float[1, 1, 2, 2] x, float[4] s) => (float[a, b, c, d] y) { y = Resize (x, , s) }",
      "main (float[1, 1, 2, 2] x, int64[4] s) => (float[a, b, c, d] y) { y = Resize (x, , , s) }"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(code_of(run(parse_model(opset_17 + text), {})) == "");
  }
}

TEST_CASE("run: a list of windows without elements is not an absent one") {
  const std::string text = "main (float[1, 1, 4, 4] x) => (float[a, b, c, d] y) { y = MaxPool <kernel_shape = [2, 2], ";
  CHECK(code_of(run(parse_model(opset_17 + text + "strides: ints = []> (x) }"), {})) == "kernel");
}

TEST_CASE("run: a stop token ends it") {
  const Model model = parse_model(endless);
  std::stop_source stop;
  RunOptions options;
  options.stop = stop.get_token();
  std::jthread later([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  CHECK(code_of(run(model, {}, options)) == "cancelled");
}

}  // namespace onnxkit::tests::api_run
