#include "onnxkit/diagnostic.h"

#include "doctest/doctest.h"

namespace onnxkit::tests::base_diagnostic {

TEST_CASE("diagnostic: format") {
  Diagnostic finding;
  finding.code = "shape-mismatch";
  finding.location.file = "a\x1b.onnx";
  finding.location.scope = {"main"};
  finding.location.node = 4;
  finding.location.op = "com.microsoft::Gelu";
  finding.location.node_name = "g";
  finding.message = "Gelu takes one input";
  finding.found = "two";
  finding.notes = {"first", "second"};
  CHECK(format(finding) ==
        "a\\x1b.onnx: error[shape-mismatch]: com.microsoft::Gelu \"g\" takes one input\n"
        "  at       main / node 4\n"
        "  found    two\n"
        "  note     first\n"
        "  note     second\n");
  CHECK(format(finding, TextStyle::color).find("\x1b[1;31merror[shape-mismatch]\x1b[0m: ") != std::string::npos);
}

TEST_CASE("diagnostic: a finding without a place is one line") {
  Diagnostic finding;
  finding.code = "not-onnx";
  finding.severity = Severity::warning;
  finding.message = "no\nmodel";
  CHECK(format(finding) == "warning[not-onnx]: no\\nmodel\n");
}

TEST_CASE("diagnostic: text from a file cannot steer a terminal or a log") {
  const struct {
    std::string_view text, shown;
  } cases[] = {
      {"plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
      {"\x1b[2J\x7f", "\\x1b[2J\\x7f"},
      {"\xc2\x9b", "\\u009b"},
      {"\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f", "\\u202e\\u2066\\u200f"},
      {"\xe2\x80\xa8", "\\u2028"},
      {"\xf3\xa0\x80\xa0", "\\U000e0020"},
      {"\x9b\xff\xc2", "\\x9b\\xff\\xc2"},
  };
  for (const auto& c : cases) {
    CHECK(without_controls(c.text) == c.shown);
    CHECK(quote(c.text) == "\"" + std::string(c.shown) + "\"");
  }
  CHECK(quote("\"\\") == R"("\"\\")");
}

}  // namespace onnxkit::tests::base_diagnostic
