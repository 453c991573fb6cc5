// Where a comparison goes wrong: both sides on the reference, one with a fault (libonnxkit/diff/layers.h).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "onnxkit/diff.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::api_layers {
namespace {

/// Four numbers of full precision.
Value numbers(double first) {
  std::vector<float> values;
  for (int i = 0; i < 4; ++i) values.push_back(static_cast<float>(std::sin(first + i)));
  return Value(floats(values));
}

SideReport compared(const std::string& sound, const std::string& faulty, bool bisect, std::vector<InputSet> sets = {}) {
  if (sets.empty()) sets.push_back({"one", {{"x", numbers(1)}}});
  DiffSide base, side;
  base.backend = side.backend = "reference";
  base.model = std::make_shared<const Model>(parse_model(opset_17 + sound));
  side.model = std::make_shared<const Model>(parse_model(opset_17 + faulty));
  DiffOptions options;
  (bisect ? options.bisect : options.layers) = true;
  auto report = diff({base, side}, sets, options);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().diagnostic.message));
  return report->sides[1];
}

std::string culprit(const SideReport& side) { return side.first_culprit ? side.layers[*side.first_culprit].value : ""; }

void names(const std::string& sound, const std::string& faulty, const std::string& value) {
  for (const bool bisect : {false, true}) {
    const SideReport side = compared(sound, faulty, bisect);
    CHECK_MESSAGE(culprit(side) == value, (bisect ? "bisect: " : "layers: "), side.layers_note);
  }
}

std::string ops(const std::vector<Location>& nodes) {
  std::string text;
  for (const Location& node : nodes) text += (text.empty() ? "" : " ") + node.op;
  return text;
}

/// A long chain, so that a search has to narrow down, with one node told from outside.
std::string chain(int length, int at, const std::string& node) {
  std::string text = "main (float[4] x) => (float[4] y)\n{ v0 = Sin (x)\n";
  for (int i = 1; i < length; ++i) {
    text += i == at
                ? "  " + node + "\n"
                : "  v" + std::to_string(i) + " = " + (i % 2 ? "Cos" : "Sin") + " (v" + std::to_string(i - 1) + ")\n";
  }
  return text + "  y = Identity (v" + std::to_string(length - 1) + ") }";
}

constexpr const char* branches = R"(
main (float[4] x) => (float[4] y)
{ a = Sin (x)
  b = Cos (x)
  c = Exp (b)
  d = Mul (c, b)
  y = Add (a, d) })";

}  // namespace

TEST_CASE("layers: the one node that differs in a long chain") {
  names(chain(60, 0, ""), chain(60, 41, "v41 = Tan (v40)"), "v41");
}

TEST_CASE("layers: a fault in a branch is not taken for one in a later branch that is right") {
  names(branches,
        "main (float[4] x) => (float[4] y) { a = Tan (x) b = Cos (x) c = Exp (b) d = Mul (c, b) y = Add (a, d) }", "a");
}

TEST_CASE("layers: a node that only the side has is named by the next value that both have") {
  names(branches,
        "main (float[4] x) => (float[4] y) "
        "{ a = Sin (x) b = Cos (x) e = Exp (b) h = Cast <to = 10> (e) c = Cast <to = 1> (h) d = Mul (c, b) "
        "y = Add (a, d) }",
        "c");
}

TEST_CASE("layers: nodes that only the side has are told with the one of the first model") {
  const SideReport side = compared(branches,
                                   "main (float[4] x) => (float[4] y) "
                                   "{ a = Sin (x) b = Cos (x) e = Exp (b) h = Cast <to = 10> (e) c = Cast <to = 1> (h) "
                                   "d = Mul (c, b) y = Add (a, d) }",
                                   false);
  REQUIRE(culprit(side) == "c");
  const Subgraph& subgraph = *side.layers[*side.first_culprit].subgraph;
  CHECK(!subgraph.is_one_node());
  CHECK(ops(subgraph.nodes) == "Exp");
  CHECK(ops(subgraph.side_nodes) == "Exp Cast Cast");
  CHECK(subgraph.from == std::vector<std::string>{"b"});
}

TEST_CASE("layers: a subgraph that names do not divide is reported as a whole") {
  const SideReport side = compared(
      "main (float[4] x, float[4] z) => (float[4] y) { a = Sin (x) k = Constant <value = float[1] {2}> () "
      "b = Mul (a, k) c = Add (b, z) d = Cos (c) y = Exp (d) }",
      "main (float[4] x, float[4] z) => (float[4] y) { p = Tan (x) k = Constant <value = float[1] {2}> () "
      "q = Div (p, k) c = Add (q, z) d = Cos (c) y = Exp (d) }",
      false, {{"one", {{"x", numbers(1)}, {"z", numbers(2)}}}});
  REQUIRE(culprit(side) == "c");
  const Subgraph& subgraph = *side.layers[*side.first_culprit].subgraph;
  CHECK(ops(subgraph.nodes) == "Sin Mul Add");
  CHECK(ops(subgraph.side_nodes) == "Tan Div Add");
  CHECK(std::set<std::string>(subgraph.from.begin(), subgraph.from.end()) == std::set<std::string>{"x", "z"});
}

TEST_CASE("layers: every culprit, and what the others inherit") {
  const auto body = [](const char* second, const char* fourth) {
    return std::string("main (float[4] x) => (float[4] y) { a = Sin (x) b = ") + second +
           " (a) c = Neg (b) d = " + fourth + " (c) e = Neg (d) y = Identity (e) }";
  };
  const SideReport side = compared(body("Cos", "Sin"), body("Exp", "Tan"), false);
  std::string blamed;
  for (const LayerDiff& layer : side.layers) {
    CAPTURE(layer.value);
    if (layer.is_culprit) blamed += layer.value;
    if (layer.value == "a") continue;
    REQUIRE(layer.total);
    REQUIRE(layer.own);
    REQUIRE(layer.inherited);
    CHECK(layer.subgraph->is_one_node());
    CHECK(layer.own->healthy != layer.is_culprit);
    CHECK((layer.inherited->rms > 1000) == (layer.value != "b"));
    if (!layer.is_culprit) CHECK(layer.inherited->rms == doctest::Approx(layer.total->rms));
  }
  CHECK(blamed == "bd");
  CHECK(culprit(side) == "b");
  CHECK(side.layers_note == "");
  CHECK(side.not_looked_at == 0);
}

TEST_CASE("layers: too many that are off are counted") {
  const auto body = [](const char* first) {
    std::string text = std::string("main (float[4] x) => (float[4] y) { v0 = ") + first + " (x)";
    for (int i = 1; i < 300; ++i) text += " v" + std::to_string(i) + " = Neg (v" + std::to_string(i - 1) + ")";
    return text + " y = Identity (v299) }";
  };
  const SideReport side = compared(body("Sin"), body("Cos"), false);
  CHECK(culprit(side) == "v0");
  CHECK(std::count_if(side.layers.begin(), side.layers.end(), [](const LayerDiff& layer) { return layer.own; }) == 256);
  CHECK(side.not_looked_at == 301 - 256);
}

TEST_CASE("layers: a value of two that a node writes") {
  names("main (float[4] x) => (float[2] y) { n = Sin (x) a, b = Split (n) c = Exp (b) y = Mul (a, c) }",
        "main (float[4] x) => (float[2] y) { n = Sin (x) a, b0 = Split (n) b = Cos (b0) c = Exp (b) y = Mul (a, c) }",
        "b");
}

TEST_CASE("layers: what a right value hides is found behind it") {
  const auto body = [](const char* op) {
    return std::string("main (float[4] x) => (float[4] y) { a = ") + op +
           " (x) big = Exp (a) l = Sign (big) z = Mul (a, l) y = Cos (z) }";
  };
  names(body("Sin"), body("Cos"), "a");
}

TEST_CASE("layers: a subgraph's fault is named by the node that holds it") {
  const auto body = [](const char* op) {
    return std::string(
               "main (float[4] x) => (float[4] y) { a = Sin (x) t = Constant <value = bool {1}> () "
               "b = If (t) <then_branch = g () => (float[4] p) { p = ") +
           op + " (a) }, else_branch = h () => (float[4] q) { q = Identity (a) }> y = Exp (b) }";
  };
  names(body("Cos"), body("Tan"), "b");
}

TEST_CASE("layers: a name that stands for another value there is told and not named") {
  const SideReport side =
      compared("main (float[4] x) => (float[4] y) { t = Sin (x) u = Cos (t) y = Exp (u) }",
               "main (float[4] x) => (float[4] y) { s = Sin (x) u = Cos (s) t = Tan (x) y = Exp (u) }", false);
  CHECK(!side.first_culprit);
  CHECK(side.layers_note.find("\"t\" deviates") != std::string::npos);
}

TEST_CASE("layers: no name in common, and nothing wrong") {
  const SideReport apart = compared("main (float[4] x) => (float[4] y) { a = Sin (x) y = Exp (a) }",
                                    "main (float[4] x) => (float[4] z) { b = Sin (x) z = Exp (b) }", true);
  CHECK(!apart.first_culprit);
  CHECK(apart.layers_note.empty());
  REQUIRE(apart.layers.size() == 2);
  CHECK(apart.layers[0].side_value == "b");
  CHECK(apart.layers[0].matched_by == MatchedBy::content);
  const SideReport same = compared(branches, branches, true);
  CHECK(!same.first_culprit);
  CHECK(same.layers_note.empty());
}

TEST_CASE("layers: the set of inputs that shows the fault is looked at") {
  const SideReport side = compared("main (float[4] x) => (float[4] y) { a = Relu (x) y = Exp (a) }",
                                   "main (float[4] x) => (float[4] y) { a = LeakyRelu (x) y = Exp (a) }", true,
                                   {{"first", {{"x", numbers(0)}}}, {"second", {{"x", numbers(3)}}}});
  CHECK(culprit(side) == "a");
}

TEST_CASE("layers: what is wrong in a Constant shows in the node that reads it, and Constants are not compared") {
  const auto body = [](const char* number) {
    return std::string("main (float[4] x) => (float[4] y) { a = Sin (x) c = Constant <value = float {") + number +
           "}> () m = Mul (a, c) y = Exp (m) }";
  };
  names(body("2"), body("2.1"), "m");
  const SideReport side = compared(body("2"), body("2.1"), false);
  REQUIRE(side.first_culprit);
  const Subgraph& subgraph = *side.layers[*side.first_culprit].subgraph;
  CHECK(ops(subgraph.nodes) == "Mul");
  CHECK(ops(subgraph.side_nodes) == "Mul");
  CHECK(
      std::none_of(side.layers.begin(), side.layers.end(), [](const LayerDiff& layer) { return layer.value == "c"; }));
}

TEST_CASE("layers: a constant that a side keeps in its own type is not told as off") {
  // 0.1 as bfloat16 has it; the weight says that the side computes so.
  const SideReport side = compared(
      "main (float[4] x) => (float[4] y) { a = Sin (x) c = Constant <value = float {0.1}> () m = Mul (a, c) "
      "y = Exp (m) }",
      "main (float[4] x) => (float[4] y) <bfloat16[1] one = {16256}> { k = Cast <to = 1> (one) s = Sin (x) "
      "a = Mul (s, k) c = Constant <value = float {0.10009765625}> () m = Mul (a, c) y = Exp (m) }",
      false);
  CHECK(side.verdict == Verdict::rounding);
  CHECK(side.outputs.front().profile == Profile::bfloat16);
  CHECK(!side.first_culprit);
  CHECK(side.layers_note == "");
}

}  // namespace onnxkit::tests::api_layers
