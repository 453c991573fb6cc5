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
  CHECK(format(finding) == "warning[not-onnx]: no\\x0amodel\n");
}

}  // namespace onnxkit::tests::base_diagnostic
