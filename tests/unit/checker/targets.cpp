#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "checker/check.h"
#include "tests/unit/support/models.h"

namespace onnxkit::tests::checker_targets {

using namespace checker;

namespace {

TargetProfile profile_of(std::string_view operators, std::string_view head = "exhaustive: false") {
  const std::string yaml = fmt::format(
      "format: 1\ntarget: toy\nabout: a toy\nkind: measured\nversion: \"1.2.3\"\ndate: \"2026-01-01\"\nsource: "
      "nowhere\n{}\noperators:\n"
      "  ai.onnx:\n{}\n",
      head, operators);
  auto profile = parse_target(yaml, "toy.yaml");
  REQUIRE_MESSAGE(profile.ok(), (profile.ok() ? "" : profile.error().diagnostic.message));
  return *std::move(profile);
}

/// Findings about the target, as "code place: message".
std::vector<std::string> findings(std::string_view text, const TargetProfile& profile) {
  const ir::Model model = parse_ir(text);
  spec::OpTable table;
  Collector collector;
  ModelCheckOptions options;
  options.targets = {std::make_shared<const TargetProfile>(profile)};
  check_model(model, table, options, collector);
  std::vector<std::string> found;
  for (const Diagnostic& diagnostic : collector.diagnostics()) {
    if (diagnostic.code.starts_with("target-"))
      found.push_back(fmt::format("{} {}: {}", diagnostic.code, diagnostic.location.path(), diagnostic.message));
  }
  return found;
}

std::string model(std::string_view body, int opset = 20, int ir_version = 10) {
  return fmt::format("<ir_version: {}, opset_import: [\"\" : {}]>\nmain {}", ir_version, opset, body);
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("every profile in the library loads and names only what the operator table has") {
  const spec::OpTable table;
  const auto names = checker::target_names();
  CHECK(names.size() >= 10);
  for (const std::string_view name : names) {
    CAPTURE(name);
    const auto loaded = load_target(name);
    REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().diagnostic.message));
    const TargetProfile& profile = **loaded;
    CHECK(profile.name == name);
    CHECK_FALSE(profile.about.empty());
    CHECK(profile.measured == !profile.command.empty());
    for (const auto& [domain, operators] : profile.operators) {
      for (const auto& listed : operators) {  // clang 14 cannot capture a structured binding
        const auto& op = listed.first;
        const auto& entries = listed.second;
        CAPTURE(op);
        const auto versions = table.versions(domain, op);
        if (versions.empty()) continue;
        for (const TargetEntry& entry : entries) {
          for (const std::int32_t since : entry.since) {
            CAPTURE(since);
            CHECK(std::ranges::any_of(versions,
                                      [&](const spec::OpSchema* schema) { return schema->since_version == since; }));
          }
          for (const TargetCondition& condition : entry.when) {
            CAPTURE(condition.name);
            CHECK(std::ranges::any_of(versions, [&](const spec::OpSchema* schema) {
              const auto named = [&](const spec::FormalParameter& formal) { return formal.name == condition.name; };
              switch (condition.item) {
                case TargetCondition::Item::attribute:
                  return schema->find_attribute(condition.name) != nullptr;
                case TargetCondition::Item::input:
                  return std::ranges::any_of(schema->inputs, named);
                case TargetCondition::Item::output:
                  return std::ranges::any_of(schema->outputs, named);
                default:
                  return true;
              }
            }));
          }
        }
      }
    }
  }
}

TEST_CASE("a target is chosen by name and by the beginning of its version") {
  CHECK(load_target("onnxruntime").ok());
  CHECK(load_target("onnxruntime@1").ok());
  CHECK(load_target("onnxruntime@1.31").ok());
  CHECK(load_target("onnxruntime@1.31.1").ok());
  CHECK_FALSE(load_target("onnxruntime@1.3").ok());
  CHECK_FALSE(load_target("onnxruntime@2").ok());
  CHECK(load_target("onnx2tf@2.6").ok());
  CHECK(load_target("onnx2tf@2.6.7").ok());
  const auto misspelt = load_target("onxruntime");
  REQUIRE_FALSE(misspelt.ok());
  CHECK(misspelt.error().diagnostic.code == "unknown-target");
  CHECK(misspelt.error().diagnostic.help == "did you mean onnxruntime?");
}

TEST_CASE("a malformed profile is refused with its line") {
  const auto message = [](std::string_view yaml) {
    const auto profile = parse_target(yaml, "bad.yaml");
    REQUIRE_FALSE(profile.ok());
    CHECK(profile.error().diagnostic.code == "target-profile");
    return profile.error().diagnostic.message;
  };
  CHECK(message("format: 2\n") == "bad.yaml:1: only format 1 is supported");
  CHECK(message("format: 1\ncolour: red\n") == "bad.yaml:2: a support profile has no key \"colour\"");
  CHECK(message("format: 1\ntarget: x\n") ==
        "bad.yaml:1: a support profile must have a target, version, date and source");
  CHECK(message("operators:\n  ai.onnx:\n    Abs:\n    - {status: perhaps}\n") ==
        "bad.yaml:4: status is runs, loads or refused, not \"perhaps\"");
  CHECK(message("operators:\n  ai.onnx:\n    Abs:\n    - {when: [{attribute: a}]}\n") ==
        "bad.yaml:4: a condition must make one demand");
  CHECK(message("operators: [\n").starts_with("bad.yaml:"));
}

TEST_CASE("operators: listed, refused, of another version, not listed") {
  const std::string_view operators =
      "    Abs:\n    - {since: [13]}\n    Neg:\n    - {since: [6], status: refused, why: old}\n    - {since: [13], "
      "status: refused, why: \"no kernel\"}\n"
      "    Relu:\n    - {since: [6]}\n    Exp:\n    - {status: loads}";
  const std::string text = model(
      "(float[2] x) => (float[2] y) { a = Abs (x) b = Neg (a) c = Relu (b) d = Exp (c) e = Sin (d) y = Sin (e) }");
  CHECK(
      findings(text, profile_of(operators)) ==
      Found{
          "target-unsupported main / node 1: toy 1.2.3: cannot run Neg (since opset 13): no kernel",
          "target-unknown main / node 3: toy 1.2.3: unknown whether Exp (since opset 13) runs: loads, but has not been "
          "observed to run",
          "target-unknown main / node 2: toy 1.2.3: unknown whether Relu (since opset 14) runs: this version of "
          "the operator is not listed",
          "target-unknown main / node 4: toy 1.2.3: unknown whether Sin (since opset 7) runs: not listed; 2 "
          "nodes, of which this is the first"});
  CHECK(
      findings(text, profile_of(operators, "exhaustive: true")) ==
      Found{
          "target-unsupported main / node 1: toy 1.2.3: cannot run Neg (since opset 13): no kernel",
          "target-unsupported main / node 2: toy 1.2.3: cannot run Relu (since opset 14): this version of the "
          "operator is not listed",
          "target-unsupported main / node 4: toy 1.2.3: cannot run Sin (since opset 7): not listed",
          "target-unsupported main / node 5: toy 1.2.3: cannot run Sin (since opset 7): not listed",
          "target-unknown main / node 3: toy 1.2.3: unknown whether Exp (since opset 13) runs: loads, but has not been "
          "observed to run"});
}

TEST_CASE("an exhaustive list says nothing of domains that it does not mention") {
  const TargetProfile profile = profile_of("    Abs:\n    - {}", "exhaustive: true");
  CHECK(profile.unlisted("") == Standing::refused);
  CHECK(profile.unlisted("ai.onnx") == Standing::refused);
  CHECK(profile.unlisted("com.microsoft") == Standing::unknown);
}

TEST_CASE("types: run, refused, not tried, narrowed, outside of what the target has") {
  const std::string_view operators =
      "    Abs:\n    - {types: {T: [float, int32]}, refused: {T: [bfloat16]}, loads: {T: [int8]}, why: \"no kernel\"}";
  const auto abs = [&](std::string_view type, std::string_view head = "exhaustive: false") {
    return findings(model(fmt::format("({0}[2] x) => ({0}[2] y) {{ y = Abs (x) }}", type)),
                    profile_of(operators, head));
  };
  CHECK(abs("float").empty());
  CHECK(abs("bfloat16") == Found{"target-unsupported main / node 0 / input 0: toy 1.2.3: cannot run Abs (since opset "
                                 "13): T = bfloat16: no kernel"});
  CHECK(abs("int8") == Found{"target-unknown main / node 0 / input 0: toy 1.2.3: unknown whether Abs (since opset "
                             "13) runs: loads with T = int8, but "
                             "has not been observed to run"});
  CHECK(abs("int64") == Found{"target-unknown main / node 0 / input 0: toy 1.2.3: unknown whether Abs (since opset "
                              "13) runs: T = int64 was not tested"});
  CHECK(abs("int64", "limits: {narrowed: {int64: int32}}").empty());
  CHECK(abs("bfloat16", "limits: {narrowed: {bfloat16: float}}").size() == 1);
  CHECK(
      abs("float", "limits: {types: [int32]}") ==
      Found{
          "target-unsupported main / node 0 / input 0: toy 1.2.3: cannot run Abs (since opset 13): no float tensors"});
}

TEST_CASE("conditions on attributes, inputs and outputs") {
  const auto judged = [](std::string_view when, std::string_view body) {
    const auto found = findings(
        model(body), profile_of(fmt::format(
                         "    Constant:\n    - {{}}\n    Identity:\n    - {{}}\n    Gather:\n    - {{when: [{0}]}}\n"
                         "    MaxPool:\n    - {{when: [{0}]}}",
                         when)));
    return found.empty() ? std::string("runs") : found[0].substr(found[0].rfind(": ") + 2);
  };
  const std::string_view gather = "(float[2, 3] x, int64[1] i) => (float[2, 1] y) { y = Gather <axis = 1> (x, i) }";
  const std::string_view fixed =
      "(float[2, 3] x) => (float[1, 3] y) { i = Constant <value_ints = [0]> () j = Identity (i) y = Gather (x, j) }";
  const std::string_view dynamic = "(float[N, 3] x, int64[1] i) => (float[1, 3] y) { y = Gather (x, i) }";
  const std::string_view pool =
      "(float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) { y = MaxPool <kernel_shape = [2, 2], strides = [1, 1]> (x) }";
  CHECK(judged("{attribute: axis, in: [0, 1]}", gather) == "runs");
  CHECK(judged("{attribute: axis, in: [0]}", gather) == "attribute axis = 1");
  CHECK(judged("{attribute: axis, in: [0]}", dynamic) == "runs");
  CHECK(judged("{attribute: axis, not_in: [1]}", gather) == "attribute axis = 1");
  CHECK(judged("{attribute: axis, present: false}", gather) == "attribute axis is given");
  CHECK(judged("{attribute: auto_pad, in: [VALID]}", pool) == "attribute auto_pad = \"NOTSET\"");
  CHECK(judged("{attribute: kernel_shape, in: [2]}", pool) == "runs");
  CHECK(judged("{attribute: dilations, in: [1]}", pool) == "runs");
  CHECK(judged("{output: Indices, present: false}", pool) == "runs");
  CHECK(judged("{output: Indices, present: true}", pool) == "output Indices is left out");
  CHECK(judged("{input: indices, constant: true}", gather) == "input indices is not constant");
  CHECK(judged("{input: indices, constant: true}", fixed) == "runs");
  CHECK(judged("{input: data, static: true}", gather) == "runs");
  CHECK(judged("{input: data, static: true}", dynamic) == "input data has a dynamic shape");
  CHECK(judged("{input: data, rank: [1, 2]}", gather) == "runs");
  CHECK(judged("{input: data, rank: [3, 4]}", gather) == "input data has rank 2");
  CHECK(judged("{input: data, min_rank: 3}", gather) == "input data has rank 2");
  CHECK(judged("{input: data, not_rank: [2]}", gather) == "input data has rank 2");
  CHECK(judged("{input: no_such_input, constant: true}", gather) == "runs");
  CHECK(judged("{note: small ones only}", gather) == "small ones only");
  CHECK(judged("{attribute: axis, note: last}", dynamic) == "runs");
}

TEST_CASE("conditions on sizes, contents and where values come from") {
  const auto judged = [](std::string_view op, std::string_view when, std::string_view body, int opset = 18) {
    const auto found = findings(model(body, opset), profile_of(fmt::format("    {}:\n    - {{when: [{}]}}", op, when)));
    const auto about = [&](const std::string& text) { return text.find("cannot run") != std::string::npos; };
    const auto refused = std::ranges::find_if(found, about);
    return refused == found.end() ? std::string("runs") : refused->substr(refused->rfind(": ") + 2);
  };
  const std::string_view product = "(float[2, {0}] x, float[{0}, 3] z) => (float[2, 3] y) {{ y = MatMul (x, z) }}";
  CHECK(judged("MatMul", "{input: A, nonempty: true}", fmt::format(fmt::runtime(product), 4)) == "runs");
  CHECK(judged("MatMul", "{input: A, nonempty: true}", fmt::format(fmt::runtime(product), "K")) == "runs");
  CHECK(judged("MatMul", "{input: A, nonempty: true}", fmt::format(fmt::runtime(product), 0)) ==
        "input A has an axis of size 0");

  const std::string_view sum = "(float[2] x) => (float[1] y) {{ y = ReduceSum (x{}) }}";
  CHECK(judged("ReduceSum", "{input: axes, named: true}", fmt::format(fmt::runtime(sum), "")) == "runs");
  CHECK(judged("ReduceSum", "{input: axes, named: true}", fmt::format(fmt::runtime(sum), ", \"\"")) ==
        "input axes is left out by an empty name");

  const std::string_view squeeze = "(float[{}, 1] x) => (float[n] y) {{ y = Squeeze (x) }}";
  const std::string_view open = "{input: data, static: true, if: [{input: axes, present: false}]}";
  CHECK(judged("Squeeze", open, fmt::format(fmt::runtime(squeeze), 2)) == "runs");
  CHECK(judged("Squeeze", open, fmt::format(fmt::runtime(squeeze), "N")) == "input data has a dynamic shape");
  CHECK(judged("Squeeze", open,
               "(float[N, 1] x) => (float[N] y) { a = Constant <value_ints = [1]> () y = Squeeze (x, a) }") == "runs");

  const std::string_view branches =
      "(bool c, float[2] x) => (float[n] z) {{ y = If (c) <then_branch = t () => (float[{0}] a) {{ s = Constant "
      "<value_ints = [{1}]> () a = Reshape (x, s) }}, else_branch = e () => (float[2] b) {{ b = Identity (x) }}> "
      "m = Constant <value_ints = [-1]> () z = Reshape (y, m) }}";
  CHECK(judged("If", "{output: outputs, equal_ranks: true}", fmt::format(fmt::runtime(branches), "2", "2")) == "runs");
  CHECK(judged("If", "{output: outputs, equal_ranks: true}", fmt::format(fmt::runtime(branches), "1, 2", "1, 2")) ==
        "output 0 has rank 2 in one branch and rank 1 in the other");

  const std::string_view dropout =
      "(float[2] x) => (float[2] y) {{ r = Constant <value_float = 0.5> () t = Constant <value = bool {{{}}}> () y = "
      "Dropout (x, r, t) }}";
  CHECK(judged("Dropout", "{input: training_mode, in: [0]}", fmt::format(fmt::runtime(dropout), 0)) == "runs");
  CHECK(judged("Dropout", "{input: training_mode, in: [0]}", fmt::format(fmt::runtime(dropout), 1)) ==
        "input training_mode = 1");

  const std::string_view size = "(float[2] x) => (int64 y) {{ {} y = Size (e) }}";
  const std::string_view stored = "{input: data, nonempty: true, if: [{input: data, initializer: true}]}";
  CHECK(judged("Size", stored, fmt::format(fmt::runtime(size), "e = Constant <value = float[0] {}> ()")) ==
        "input data has an axis of size 0");
  CHECK(judged("Size", stored,
               fmt::format(fmt::runtime(size), "z = Constant <value_ints = [0]> () e = Slice (x, z, z)")) == "runs");

  const std::string_view zeros =
      "(float[2] x) => (float[2] z) {{ c = Constant <value = bool {{0}}> () z = If (c) <then_branch = t () => "
      "(float[a, "
      "b] a) {{ s = Constant <value_ints = [{}]> () a = Reshape (x, s) }}, else_branch = e () => (float[2] b) {{ b = "
      "Identity (x) }}> }}";
  CHECK(judged("Reshape", "{input: shape, copies: data}", fmt::format(fmt::runtime(zeros), "0, 1")) == "runs");
  CHECK(judged("Reshape", "{input: shape, copies: data}", fmt::format(fmt::runtime(zeros), "2, 0")) ==
        "entry 1 of input shape is 0, and input data has no such axis to copy");

  const std::string_view expand = "(float x, float s) => (float y) {{ h = Shape (s) {} }}";
  const std::string_view passed = "{input: input, port: false, if: [{output: output, port: true}]}";
  CHECK(judged("Expand", passed, fmt::format(fmt::runtime(expand), "y = Expand (x, h)")) ==
        "input input is an input of the model");
  CHECK(judged("Expand", passed, fmt::format(fmt::runtime(expand), "z = Expand (x, h) y = Abs (z)")) == "runs");
}

TEST_CASE("conditions on sequences") {
  const auto judged = [](std::string_view when, std::string_view body) {
    const auto found =
        findings(model(body, 17), profile_of(fmt::format("    ConcatFromSequence:\n    - {{when: [{}]}}", when)));
    const auto about = [&](const std::string& text) { return text.find("cannot run") != std::string::npos; };
    const auto refused = std::ranges::find_if(found, about);
    return refused == found.end() ? std::string("runs") : refused->substr(refused->rfind(": ") + 2);
  };
  const std::string_view branch =
      "(bool c, float[2] x) => (float[n] y) {{ {} y = If (c) <then_branch = t () => (float[4] a) {{ {} a = "
      "ConcatFromSequence <axis = 0> (s) }}, else_branch = e () => (float[2] b) {{ b = Identity (x) }}> }}";
  constexpr std::string_view made = "s = SequenceConstruct (x, x)";
  CHECK(judged("{input: input_sequence, local: true}", fmt::format(fmt::runtime(branch), "", made)) == "runs");
  CHECK(judged("{input: input_sequence, local: true}", fmt::format(fmt::runtime(branch), made, "")) ==
        "input input_sequence comes from an outer graph");
  const std::string_view loop =
      "(float[2] x, int64 n, bool c) => (float[m] y) {{ e = SequenceEmpty () {} y = ConcatFromSequence <axis = 0> (s) "
      "}}";
  CHECK(judged("{input: input_sequence, not_from: [Loop]}",
               fmt::format(fmt::runtime(loop), "s = SequenceInsert (e, x)")) == "runs");
  CHECK(judged("{input: input_sequence, not_from: [Loop]}",
               fmt::format(fmt::runtime(loop),
                           "s = Loop (n, c, e) <body = b (int64 k, bool d, seq(float[2]) p) => (bool f, seq(float[2]) "
                           "q) { f = Identity (d) q = SequenceInsert (p, x) }>")) ==
        "input input_sequence is an output of Loop");
}

TEST_CASE("limits of the whole model") {
  const auto found = [](std::string_view limits, std::string_view text) {
    return findings(text, profile_of("    Abs:\n    - {}", limits));
  };
  const std::string text = model("(float[N] x) => (float[N] y) { y = Abs (x) }");
  CHECK(found("limits: {opset: {ai.onnx: [7, 20]}, ir_version: 10}", text).empty());
  CHECK(found("limits: {opset: {ai.onnx: [7, 19]}}", text) ==
        Found{"target-opset opset_import 0: toy 1.2.3: supports opsets 7 to 19 of ai.onnx"});
  CHECK(found("limits: {ir_version: 9}", text) ==
        Found{"target-ir-version ir_version: toy 1.2.3: reads IR versions up to 9"});
  CHECK(found("limits: {tensor_ports: true}", text).empty());
  CHECK(found("limits: {tensor_ports: true}", model("(float[N] x) => (seq(float[N]) s) { s = SequenceConstruct (x) }"))
            .front() == "target-unsupported main / output \"s\": toy 1.2.3: takes and gives tensors only");
  CHECK(found("limits: {static_shapes: true}", text) ==
        Found{"target-static-shapes main / input \"x\": toy 1.2.3: requires inputs of fixed shape"});
}

TEST_CASE("nodes of subgraphs and function bodies are judged, calls are not") {
  const TargetProfile profile = profile_of(
      "    If:\n    - {}\n    Abs:\n    - {}\n    Neg:\n    - {status: refused, why: missing}", "exhaustive: true");
  CHECK(
      findings(
          model("(bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) },"
                " else_branch = e () => (float[2] b) { b = Abs (x) }> }"),
          profile) == Found{"target-unsupported main / node 0 / then_branch / node 0: toy 1.2.3: cannot run Neg (since "
                            "opset 13): missing"});
  CHECK(findings("<ir_version: 10, opset_import: [\"\" : 20, \"own\" : 1]>\nmain (float[2] x) => (float[2] y) { y = "
                 "own.f (x) }\n"
                 "<domain: \"own\", opset_import: [\"\" : 20]>\nf (a) => (b) { b = Neg (a) }",
                 profile) ==
        Found{"target-unsupported function own::f / node 0: toy 1.2.3: cannot run Neg (since opset 13): missing"});
}

TEST_CASE("narrowed initializers are told once per type") {
  const auto found =
      findings(model("(float[2] x) => (float[2] y) <int64[1] a = {1}, int64[1] b = {2}> { y = Abs (x) }"),
               profile_of("    Abs:\n    - {}", "limits: {narrowed: {int64: int32}}"));
  CHECK(found == Found{"target-narrowed main / initializer \"a\": toy 1.2.3: computes int64 as int32; 2 initializers "
                       "are of that type"});
}

}  // namespace onnxkit::tests::checker_targets
