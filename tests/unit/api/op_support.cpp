#include "checker/targets/op_support.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libonnxkit/spec/op_table.h"

namespace onnxkit::tests::api_op_support {
namespace {

constexpr const char* profile_text = R"yaml(
format: 1
target: toy
about: "a target for this test"
kind: measured
version: "2.0"
date: "2026-01-01"
source: "none"
command: "none"
exhaustive: false
limits:
  opset: {ai.onnx: [7, 20]}
  narrowed: {double: float}
operators:
  ai.onnx:
    Conv:
    - {since: [1], types: {T: [float]}, refused: {T: [float16]}}
    - {since: [11], types: {T: [float]}, when: [{attribute: auto_pad, in: [NOTSET]}, {input: X, rank: [4, 4]}, {note: "small kernels"}, {attribute: axis, in: [0]}, {output: mask, present: false}]}
    Einsum:
    - {status: refused, why: "no kernel"}
    Gelu:
    - {status: loads, why: "crashed"}
)yaml";

OpSupport support(const char* op, std::int64_t opset, std::optional<std::int64_t> until = {}) {
  const auto profile = checker::parse_target(profile_text, "toy.yaml");
  REQUIRE_MESSAGE(profile.ok(), (profile.ok() ? "" : profile.error().diagnostic.message));
  const spec::OpTable table;
  const auto result = support_of(std::vector{std::make_shared<const checker::TargetProfile>(*profile)},
                                 *table.find("", op, opset), until);
  REQUIRE(result.size() == 1);
  CHECK(result[0].target == "toy");
  CHECK(result[0].version == "2.0");
  return result[0];
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("types that run, are refused, or of which nothing is known") {
  const OpSupport conv = support("Conv", 10, 10);
  CHECK(conv.standing == "runs");
  REQUIRE(conv.types.size() == 1);
  CHECK(conv.types[0].runs == Strings{"float", "double"});
  CHECK(conv.types[0].refused == Strings{"float16"});
  CHECK(conv.types[0].unknown.empty());
  CHECK(support("Conv", 11).types[0].unknown == Strings{"float16"});
}

TEST_CASE("conditions are said in words, those that the version can break") {
  CHECK(support("Conv", 11).conditions == Strings{"attribute auto_pad NOTSET", "input X of rank 4", "small kernels"});
}

TEST_CASE("opset limits, refusals and what the profile does not list") {
  CHECK(support("Conv", 22).standing == "refused");
  CHECK(support("Conv", 22).reason == "its newest opset is 20");
  CHECK(support("Relu", 1, 5).reason == "its oldest opset is 7");
  CHECK(support("Relu", 6, 12).standing == "unknown");
  CHECK(support("Einsum", 12).standing == "refused");
  CHECK(support("Einsum", 12).reason == "no kernel");
  CHECK(support("Gelu", 20).standing == "loads");
}

TEST_CASE("targets are told when asked for") {
  OpQuery query{.names = {"Upsample"}, .domain = {}, .context = {}, .targets = true};
  const auto list = list_operators(query);
  REQUIRE(list);
  const auto& versions = list->operators.front().versions;
  CHECK(versions[0].targets.size() == checker::target_names().size());
  CHECK(versions.back().targets.empty());
  query.targets = false;
  CHECK(list_operators(query)->operators.front().versions[0].targets.empty());
}

}  // namespace onnxkit::tests::api_op_support
