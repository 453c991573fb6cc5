#include "onnxkit/ops.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace onnxkit::tests::api_ops {

TEST_CASE("all operators are listed with their domains") {
  const auto list = list_operators();
  REQUIRE(list);
  std::size_t official = 0;
  for (const OpInfo& info : list->operators) {
    const auto domain = std::ranges::find(list->domains, info.domain, &OpDomain::name);
    REQUIRE(domain != list->domains.end());
    official += domain->official;
  }
  CHECK(official == 227);
  CHECK(list->domains.front().name == "ai.onnx");
  CHECK(list->domains.front().newest_opset == 28);
}

TEST_CASE("operators are found by name, by domain and in the wrong case") {
  OpQuery query{.names = {"gelu"}, .domain = {}, .context = {}, .targets = false};
  auto list = list_operators(query);
  REQUIRE(list);
  REQUIRE(list->operators.size() == 2);
  CHECK(list->operators[0].domain == "ai.onnx");
  CHECK(list->operators[1].domain == "com.microsoft");

  query.names = {"com.microsoft::Gelu", "ai.onnx::Relu"};
  list = list_operators(query);
  REQUIRE(list);
  REQUIRE(list->operators.size() == 2);
  CHECK(list->operators[1].name == "Relu");

  query.names = {"Gelu"};
  query.domain = "ai.onnx";
  list = list_operators(query);
  REQUIRE(list);
  CHECK(list->operators.size() == 1);
}

TEST_CASE("unknown names come with the nearest known one") {
  const auto fault = [](OpQuery query) {
    const auto list = list_operators(query);
    REQUIRE_FALSE(list);
    return list.error().diagnostic.code + " | " + list.error().diagnostic.help;
  };
  CHECK(fault({.names = {"Softmx"}, .domain = {}, .context = {}, .targets = false}) ==
        "unknown-operator | did you mean Softmax?");
  CHECK(fault({.names = {"com.microsoft::FusedMatMull"}, .domain = {}, .context = {}, .targets = false}) ==
        "unknown-operator | did you mean FusedMatMul?");
  CHECK(fault({.names = {"Qwertyuiop"}, .domain = {}, .context = {}, .targets = false}) == "unknown-operator | ");
  CHECK(fault({.names = {}, .domain = "ai.onnx.mll", .context = {}, .targets = false}) ==
        "unknown-domain | did you mean ai.onnx.ml?");
  CHECK(fault({.names = {"ai.onx::Relu"}, .domain = {}, .context = {}, .targets = false}) ==
        "unknown-domain | did you mean ai.onnx?");
  CHECK(Context::make({.schemas = {"no/such.yaml"}}).error().diagnostic.code == "cannot-read");
}

TEST_CASE("versions know their range and what they changed") {
  const auto list = list_operators({.names = {"Upsample"}, .domain = {}, .context = {}, .targets = false});
  REQUIRE(list);
  const auto& versions = list->operators.front().versions;
  REQUIRE(versions.size() == 4);
  CHECK(versions[0].experimental);
  CHECK(versions[0].until == 6);
  CHECK(versions[0].changes.empty());
  CHECK(versions[2].changes.front().kind == "became-input");
  CHECK(versions[3].deprecated);
  CHECK_FALSE(versions[3].until);
}

}  // namespace onnxkit::tests::api_ops
