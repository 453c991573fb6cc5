#include "converters/containers/json_writer.h"

#include <doctest/doctest.h>

#include <limits>

#include "converters/containers/json.h"

namespace onnxkit::tests::containers_json_writer {

using containers::JsonDocument;
using containers::JsonWriter;

TEST_CASE("json writer: commas between values, members and brackets") {
  JsonWriter json;
  json.open_object().member("a", std::int64_t{1}).key("b").open_array().value(true).null().open_array().close_array();
  json.value(2).close_array().member("c", "d").key("e").open_object().close_object().close_object();
  CHECK(json.text() == R"({"a":1,"b":[true,null,[],2],"c":"d","e":{}})");
}

TEST_CASE("json writer: text that needs escapes reads back") {
  const std::string text("\"quoted\" back\\slash /\b\f\n\r\t\x01\x1f\x7f \xc3\xa4 \xe2\x80\xa8");
  JsonWriter json;
  json.open_object().member(text, text).close_object();
  const auto read = JsonDocument::parse(json.text());
  REQUIRE(read.ok());
  CHECK((*read)->root()[text].text() == std::string_view(text));
}

TEST_CASE("json writer: numbers read back as they are") {
  for (const double number : {0.1, -0.0, 1e300, 5e-324, 1.0 / 3, 123456789.0}) {
    JsonWriter json;
    json.open_array().value(number).close_array();
    const auto read = JsonDocument::parse(json.text());
    REQUIRE(read.ok());
    CHECK((*(*read)->root().begin()).real() == number);
  }
  JsonWriter json;
  json.open_array().value(std::numeric_limits<std::int64_t>::min()).value(std::numeric_limits<std::int64_t>::max());
  CHECK(json.text() + "]" == "[-9223372036854775808,9223372036854775807]");
}

}  // namespace onnxkit::tests::containers_json_writer
