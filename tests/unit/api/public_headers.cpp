// All public headers in one file; public_headers_twin.cpp is another such file of the same program.
#include "onnxkit/onnxkit.h"

#include <filesystem>
#include <string>

#include "doctest/doctest.h"

namespace onnxkit::tests::api_public_headers {

std::string_view version_seen_by_twin();
Error error_made_by_twin();

TEST_CASE("public headers: two files of one program") {
  CHECK(version_seen_by_twin() == version());
  CHECK(version().starts_with(std::to_string(ONNXKIT_VERSION_MAJOR) + "."));
  CHECK(error_made_by_twin().kind == ErrorKind::usage);
}

TEST_CASE("public headers: opset's and diff's verdicts side by side") {
  CHECK(VerifyReport().verdict == Equality::not_compared);
  CHECK(OutputDiff().verdict == Verdict::not_compared);
}

}  // namespace onnxkit::tests::api_public_headers
