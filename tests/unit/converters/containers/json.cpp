#include "converters/containers/json.h"

#include <doctest/doctest.h>

#include <cmath>

namespace onnxkit::tests::containers_json {

using containers::Json;
using containers::JsonDocument;

TEST_CASE("JSON: values by name and in order") {
  const auto document = JsonDocument::parse(R"({"a": [1, 2.5, "x", true, null], "b": {"c": -3}, "d": "NaN"})");
  REQUIRE(document);
  const Json root = (*document)->root();
  CHECK(root.size() == 3);
  CHECK(root["b"]["c"].integer() == -3);
  CHECK(root["b"]["c"].name() == "c");
  CHECK(std::isnan(root["d"].real().value_or(0)));
  CHECK_FALSE(root["e"]["f"].exists());
  std::vector<std::string> kinds;
  for (const Json value : root["a"]) {
    if (value.integer())
      kinds.emplace_back("integer");
    else if (value.text())
      kinds.emplace_back("text");
    else if (value.real())
      kinds.emplace_back("real");
    else if (value.boolean())
      kinds.emplace_back("boolean");
    else if (value.is_null())
      kinds.emplace_back("null");
  }
  CHECK(kinds == std::vector<std::string>{"integer", "real", "text", "boolean", "null"});
}

TEST_CASE("JSON: what is cut and what is nested too deeply are errors") {
  CHECK(JsonDocument::parse("{\"a\": [1, ").error().diagnostic.code == "json-syntax");
  CHECK(JsonDocument::parse("").error().diagnostic.code == "json-syntax");
  CHECK(JsonDocument::parse(std::string(100'000, '[')).error().diagnostic.code == "nesting-depth");
}

}  // namespace onnxkit::tests::containers_json
