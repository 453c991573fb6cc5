// Verdicts of whole comparisons: a model against recorded answers, or against another model, on the reference.
#include <doctest/doctest.h>

#include <cmath>

#include "libonnxkit/base/dtype/dtype.h"
#include "onnxkit/diff.h"
#include "onnxkit/run.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::api_diff_verdicts {
namespace {

using Values = std::vector<NamedValue>;

std::shared_ptr<const Model> model_of(const std::string& body) {
  return std::make_shared<const Model>(parse_model(opset_17 + body));
}

DiffSide on_reference(const std::string& body) {
  DiffSide side;
  side.backend = "reference";
  side.model = model_of(body);
  return side;
}

DiffReport compared(const DiffSide& base, const DiffSide& side, const Values& inputs, DiffOptions options = {}) {
  auto report = diff({base, side}, {{"one", inputs}}, options);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().diagnostic.message));
  return *std::move(report);
}

/// The model's answers on the reference, as `change` leaves them, compared with the model.
template <class Change>
SideReport recorded(const std::string& body, const Values& inputs, const Change& change, DiffOptions options = {}) {
  auto answers = run(*model_of(body), inputs);
  REQUIRE_MESSAGE(answers, (answers ? "" : answers.error().diagnostic.message));
  change(answers->outputs);
  DiffSide side;
  side.backend = "recorded";
  if (options.profiles.empty()) options.profiles = {Profile::float32};
  side.answers.push_back(answers->outputs);
  return compared(on_reference(body), side, inputs, std::move(options)).sides[1];
}

const OutputDiff& output(const SideReport& side, const std::string& name) {
  for (const OutputDiff& found : side.outputs) {
    if (found.name == name) return found;
  }
  FAIL("no such output");
  return side.outputs.front();
}

Value times(const Value& value, double factor) {
  std::vector<float> numbers;
  for (const double number : to_reals(value.tensor)) numbers.push_back(static_cast<float>(number * factor));
  return Value(floats(value.tensor.dims(), numbers));
}

/// Boxes with one of two scores: three are above the limit, five so near it that rounding decides.
constexpr const char* detector = R"(
main (float[1] x) => (float[n, 4] boxes, float[n] scores, int64[n, 3] selected)
<float zero = {0}, float[1, 8, 4] corners = {0, 0, 9, 9, 20, 0, 29, 9, 40, 0, 49, 9, 60, 0, 69, 9,
 0, 20, 9, 29, 20, 20, 29, 29, 40, 20, 49, 29, 60, 20, 69, 29},
 float[1, 1, 8] points = {2, 1, 2, 1, 2, 1, 1, 1}, float three = {3}, float scale = {1.1},
 int64 most = {8}, float overlap = {0.5}, float least = {0.33333334}, int64 last = {2}, int64[1] first = {0},
 int64[1] flat = {-1}>
{ nothing = Mul (x, zero)
  p = Add (points, nothing)
  s = Div (p, three)
  c = Add (corners, nothing)
  b = Mul (c, scale)
  selected = NonMaxSuppression (b, s, most, overlap, least)
  at = Gather <axis = 1> (selected, last)
  b0 = Squeeze (b, first)
  boxes = Gather <axis = 0> (b0, at)
  s0 = Reshape (s, flat)
  scores = Gather <axis = 0> (s0, at) })";

const Values one_number = {{"x", Value(floats({1}, {0.7F}))}};

}  // namespace

TEST_CASE("verdicts: a detector whose number of boxes rounding decides is still judged") {
  const SideReport honest = recorded(detector, one_number, [](Values&) {});
  CHECK_FALSE(is_finding(honest.verdict));
  CHECK(output(honest, "boxes").verdict == Verdict::identical);
  const auto by = [](double factor) {
    return [factor](Values& outputs) { outputs[0].value = times(outputs[0].value, factor); };
  };
  CHECK(output(recorded(detector, one_number, by(1 + 0x1p-23)), "boxes").verdict == Verdict::rounding);
  for (const double factor : {100.0, 1.01, 1.0001}) {
    CAPTURE(factor);
    const SideReport side = recorded(detector, one_number, by(factor));
    CHECK(side.verdict == Verdict::not_rounding);
    CHECK(output(side, "boxes").verdict == Verdict::not_rounding);
    CHECK(output(side, "scores").verdict == Verdict::identical);
    CHECK(output(side, "boxes").floors.size() <= 6);
    for (const FloorMeasure& floor : output(side, "boxes").floors) CHECK(floor.elements > 0);
  }
}

TEST_CASE("verdicts: the figures of detections stand where the number of boxes differs") {
  DiffOptions options;
  options.scores["boxes"] = "scores";
  const auto drop_last = [](Values& outputs) {
    for (NamedValue& value : outputs) {
      if (value.name == "selected") continue;
      std::vector<double> numbers = to_reals(value.value.tensor);
      std::vector<std::int64_t> dims = value.value.tensor.dims();
      numbers.resize(numbers.size() / static_cast<std::size_t>(dims[0]) * static_cast<std::size_t>(dims[0] - 1));
      --dims[0];
      value.value = Value(floats(dims, {numbers.begin(), numbers.end()}));
    }
  };
  const SideReport side = recorded(detector, one_number, drop_last, options);
  const OutputDiff& boxes = output(side, "boxes");
  CHECK(boxes.outcome.task == "detections");
  CHECK_FALSE(boxes.outcome.figures.empty());
  CHECK(boxes.outcome.figures[0].second == doctest::Approx(2.0 / 3));
  CHECK(boxes.verdict == Verdict::not_rounding);  // the three are far above the limit
}

TEST_CASE("verdicts: four columns are logits only where they are probabilities") {
  CHECK(guess_task(floats({2, 4}, {1, 2, 30, 40, 5, 6, 70, 80})) == "none");
  CHECK(guess_task(floats({2, 4}, {0.1F, 0.2F, 0.3F, 0.4F, 0, 1, 0, 0})) == "logits");
  CHECK(guess_task(floats({0, 4}, {})) == "none");
  CHECK(guess_task(floats({1, 5}, {1, 2, 3, 4, 5})) == "logits");
}

TEST_CASE("verdicts: a culprit inside the graph is a finding, whatever the outputs show") {
  DiffOptions options;
  options.layers = true;
  const auto body = [](const char* op) {
    return std::string("main (float[4] x) => (float[4] y) { a = ") + op +
           " (x) big = Exp (a) l = Sign (big) y = Mul (x, l) }";
  };
  const Values inputs = {{"x", Value(floats({4}, {0.1F, 0.9F, 1.7F, -2.3F}))}};
  const DiffReport report = compared(on_reference(body("Sin")), on_reference(body("Cos")), inputs, options);
  CHECK(report.sides[1].outputs[0].verdict == Verdict::identical);
  CHECK(report.sides[1].first_culprit);
  CHECK(report.sides[1].verdict == Verdict::not_rounding);
  CHECK(report.verdict == Verdict::not_rounding);
  const DiffReport same = compared(on_reference(body("Sin")), on_reference(body("Sin")), inputs, options);
  CHECK(same.verdict == Verdict::identical);
}

TEST_CASE("verdicts: a value that only what was not compared reads counts") {
  DiffOptions options;
  options.layers = true;
  // A sequence is not compared inside the graph; the label does not show the fault.
  const auto body = [](const char* factor) {
    return std::string("main (float[2, 3] x) => (seq(float[2, 3]) z, int64[2] label) <float k = {") + factor +
           "}> { h = Mul (x, k) p = Softmax (h) z = SequenceConstruct (p) "
           "label = ArgMax <axis = 1, keepdims = 0> (p) }";
  };
  const Values inputs = {{"x", Value(floats({2, 3}, {0.1F, 0.9F, 1.7F, -2.3F, 0.4F, 0.2F}))}};
  const SideReport side = compared(on_reference(body("1.1")), on_reference(body("3.3")), inputs, options).sides[1];
  CHECK(output(side, "label").verdict == Verdict::identical);
  REQUIRE(side.first_culprit);
  CHECK(side.layers[*side.first_culprit].value == "h");
  CHECK(side.layers_note == "");
}

namespace {

/// A convolution and a pool between quantizers.
std::string quantized(const std::string& conv, const std::string& pool, const char* scale = "0.03") {
  return "main (float[1, 1, 16, 16] x) => (float[1, 1, 14, 14] y, uint8[1, 1, 14, 14] steps) "
         "<float sx = {0.0157}, uint8 zx = {128}, float sy = {" +
         std::string(scale) +
         "}, uint8 zy = {128}, float sw = {0.01}, int8 zw = {0}, "
         "int8[1, 1, 3, 3] w = {40, -20, 90, 15, -70, 33, 11, 60, -45}> "
         "{ xq = QuantizeLinear (x, sx, zx) xd = DequantizeLinear (xq, sx, zx) wd = DequantizeLinear (w, sw, zw) "
         "c = Conv <" +
         conv + "> (xd, wd) cq = QuantizeLinear (c, sy, zy) y = DequantizeLinear (cq, sy, zy) p = " + pool +
         " <kernel_shape = [3, 3]> (xd) steps = QuantizeLinear (p, sx, zx) }";
}

}  // namespace

TEST_CASE("verdicts: fp8 explains a deviation where it is asked for only") {
  std::string weights;
  std::vector<float> numbers;
  for (int i = 0; i < 256; ++i) {
    weights += (i == 0 ? "" : ", ") + std::to_string(std::sin(1.7 * i + 0.3));
    numbers.push_back(static_cast<float>(std::cos(2.3 * i)));
  }
  const std::string body =
      "main (float[16, 16] x) => (float[16, 16] y) <float[16, 16] w = {" + weights + "}> { y = MatMul (x, w) }";
  const Values inputs = {{"x", Value(floats({16, 16}, numbers))}};
  const auto off = [](Values& outputs) { outputs[0].value = times(outputs[0].value, 1.05); };
  DiffOptions options;
  options.profiles = {Profile::float32, Profile::bfloat16};
  CHECK(output(recorded(body, inputs, off, options), "y").verdict == Verdict::not_rounding);
  options.profiles.push_back(Profile::fp8);
  const SideReport asked = recorded(body, inputs, off, options);
  CHECK(output(asked, "y").verdict == Verdict::rounding);
  CHECK(output(asked, "y").profile == Profile::fp8);
  CHECK(output(recorded(
                   body, inputs, [](Values&) {}, options),
               "y")
            .verdict == Verdict::identical);
  const auto little = [](Values& outputs) { outputs[0].value = times(outputs[0].value, 1 + 0x1p-9); };
  CHECK(output(recorded(body, inputs, little, options), "y").profile == Profile::bfloat16);
  // A side that does not say what it computes in.
  DiffSide silent;
  silent.backend = "recorded";
  auto answers = run(*model_of(body), inputs);
  REQUIRE(answers);
  off(answers->outputs);
  silent.answers.push_back(answers->outputs);
  const SideReport found = compared(on_reference(body), silent, inputs).sides[1];
  CHECK(output(found, "y").verdict == Verdict::not_rounding);
  for (const FloorMeasure& floor : output(found, "y").floors) CHECK(floor.profile != Profile::fp8);
}

TEST_CASE("verdicts: int8 is tried where accuracy_level lets a runtime round to 8 bits") {
  const auto model_with = [](const std::string& level) {
    return std::make_shared<const Model>(parse_model(
        "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> main (float[4, 32] x, uint8[2, 1, 16] w) => "
        "(y) "
        "<float[2, 1] s = {0.25, 0.5}> { y = com.microsoft.MatMulNBits <K = 32, N = 2, bits = 4, block_size = 32" +
        level + "> (x, w, s) }"));
  };
  std::vector<float> numbers(128), rounded(128);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(std::sin(1.7 * static_cast<double>(i)));
  for (std::size_t row = 0; row < 128; row += 32) {
    float most = 0;
    for (std::size_t i = row; i < row + 32; ++i) most = std::max(most, std::abs(numbers[i]));
    for (std::size_t i = row; i < row + 32; ++i) rounded[i] = std::round(numbers[i] / most * 127) * most / 127;
  }
  std::vector<std::byte> weights;
  for (int i = 0; i < 32; ++i) weights.push_back(static_cast<std::byte>(37 * i % 251));
  const NamedValue w{"w", *Tensor::from_bytes(ElementType::uint8, {2, 1, 16}, std::move(weights))};
  const auto computed = run(*model_with(""), {{"x", Value(floats({4, 32}, rounded))}, w});
  REQUIRE(computed);
  const auto found = [&](const std::string& level, const std::string& arithmetic) {
    DiffSide base, side;
    base.backend = "reference";
    base.model = model_with(level);
    side.backend = "recorded";
    side.answers.push_back(computed->outputs);
    side.arithmetic = arithmetic;
    return output(compared(base, side, {{"x", Value(floats({4, 32}, numbers))}, w}).sides[1], "y");
  };
  const OutputDiff allowed = found(", accuracy_level = 4", "float32");
  CHECK(allowed.verdict == Verdict::rounding);
  CHECK(allowed.profile == Profile::int8);
  CHECK(found("", "float32").verdict == Verdict::not_rounding);
  CHECK(found(", accuracy_level = 1", "float32").verdict == Verdict::not_rounding);
}

TEST_CASE("verdicts: int8 is tried only between models that quantize differently") {
  const std::string plain = "kernel_shape = [3, 3]", dilated = "dilations = [2, 2], pads = [1, 1, 1, 1]";
  std::vector<float> numbers;
  for (int i = 0; i < 256; ++i) numbers.push_back(static_cast<float>(1.9 * std::sin(1.7 * i)));
  const Values inputs = {{"x", Value(floats({1, 1, 16, 16}, numbers))}};
  const auto found = [&](const std::string& other) {
    return compared(on_reference(quantized(plain, "AveragePool")), on_reference(other), inputs).sides[1];
  };
  CHECK(output(found(quantized(dilated, "AveragePool")), "y").verdict == Verdict::not_rounding);
  CHECK(output(found(quantized(plain, "MaxPool")), "steps").verdict == Verdict::not_rounding);
  const SideReport other = found(quantized(plain, "AveragePool", "0.031"));
  CHECK(output(other, "y").verdict == Verdict::rounding);
  CHECK(output(other, "y").profile == Profile::int8);
  // One scale that is there besides all others is a fault, not another quantization.
  std::string one_wrong = quantized(plain, "AveragePool");
  one_wrong.replace(one_wrong.find("float sw"), 0, "float odd = {0.033}, ");
  one_wrong.replace(one_wrong.find("QuantizeLinear (c, sy"), 21, "QuantizeLinear (c, odd");
  CHECK(output(found(one_wrong), "y").verdict == Verdict::not_rounding);
  // Where int8 is tried the size of the steps counts.
  const SideReport pooled = found(quantized(plain, "MaxPool", "0.031"));
  CHECK(output(pooled, "steps").verdict == Verdict::not_rounding);
  CHECK(output(pooled, "steps").why.find("steps (rms)") != std::string::npos);
}

TEST_CASE("verdicts: a step that lies on an edge is rounding, and how much of the model does is told") {
  const std::string body =
      "main (float[3] x) => (float[3] y) <float t = {3}, float s = {0.031746037}> "
      "{ d = Div (x, t) q = QuantizeLinear (d, s) y = DequantizeLinear (q, s) }";
  const Values inputs = {{"x", Value(floats({3}, {1, 0.7F, 2.2F}))}};
  const auto moved = [&](std::size_t at, double steps) {
    return recorded(body, inputs, [&](Values& outputs) {
      std::vector<double> numbers = to_reals(outputs[0].value.tensor);
      numbers[at] += steps * 0.031746037;
      outputs[0].value = Value(floats({3}, {numbers.begin(), numbers.end()}));
    });
  };
  const double way = to_reals((*run(*model_of(body), inputs)).outputs[0].value.tensor)[0] < 0.33 ? 1 : -1;
  const SideReport edge = moved(0, way);
  CHECK(edge.verdict == Verdict::rounding);
  CHECK(edge.outputs[0].why.find("33 % of the quantized elements") != std::string::npos);
  CHECK(moved(1, 1).verdict == Verdict::not_rounding);
  CHECK(moved(2, -1).verdict == Verdict::not_rounding);
}

TEST_CASE("diff: a comparison that is stopped gives the sides that were finished") {
  const DiffSide side = on_reference("main (float[2] x) => (float[2] y) { y = Exp (x) }");
  const InputSet inputs{"one", {{"x", Value(floats({2}, {1, 2}))}}};
  std::stop_source stop;
  DiffOptions options;
  options.stop = stop.get_token();
  std::size_t runs = 0;
  options.on_step = [&](std::string_view step) {
    if (step.starts_with("running") && ++runs == 3) stop.request_stop();
  };
  const auto report = diff({side, side, side}, {inputs}, options);
  REQUIRE(report);
  CHECK(report->cancelled);
  CHECK(report->compared);
  CHECK(report->sides[1].outputs.size() == 1);
  CHECK_FALSE(report->sides[1].failure);
  REQUIRE(report->sides[2].failure);
  CHECK(report->sides[2].failure->diagnostic.code == "cancelled");
  CHECK(report->sides[2].outputs.empty());
}

TEST_CASE("diff: a comparison that is stopped before any side was finished is cancelled") {
  const DiffSide side = on_reference("main (float[2] x) => (float[2] y) { y = Exp (x) }");
  std::stop_source stop;
  DiffOptions options;
  options.stop = stop.get_token();
  options.on_step = [&](std::string_view) { stop.request_stop(); };
  const auto report = diff({side, side}, {{"one", {{"x", Value(floats({2}, {1, 2}))}}}}, options);
  REQUIRE_FALSE(report);
  CHECK(report.error().diagnostic.code == "cancelled");
}

TEST_CASE("diff: an unknown backend comes before a side that is missing; short names are known") {
  DiffSide side = on_reference("main (float[2] x) => (float[2] y) { y = Exp (x) }");
  const InputSet inputs{"one", {{"x", Value(floats({2}, {1, 2}))}}};
  side.backend = "refrence";
  CHECK(diff({side}, {inputs}, {}).error().diagnostic.code == "unknown-backend");
  side.backend = "ref";
  CHECK(diff({side}, {inputs}, {}).error().diagnostic.code == "usage");
  const auto report = diff({side, side}, {inputs}, {});
  REQUIRE(report);
  CHECK(report->sides[0].backend == "reference");
  CHECK(report->sides[0].label == "ref");
}

}  // namespace onnxkit::tests::api_diff_verdicts
