#include "onnxkit/error.h"

#include <set>
#include <string>

#include "doctest/doctest.h"
#include "onnxkit/check.h"
#include "onnxkit/result.h"

namespace onnxkit::tests::base_error {

TEST_CASE("error: every code stands once, in order, and has a kind with a name") {
  std::string_view before;
  for (const ErrorCodeEntry& entry : error_codes) {
    CHECK(before < entry.code);
    CHECK_FALSE(name_of(entry.kind).empty());
    CHECK_MESSAGE(entry.kind != ErrorKind::internal, entry.code);
    before = entry.code;
  }
}

TEST_CASE("error: every code has a page") {
  std::set<std::string> pages;
  for (const CodeExplanation& page : explain_codes()) pages.insert(page.code);
  for (const ErrorCodeEntry& entry : error_codes) CHECK_MESSAGE(pages.contains(std::string(entry.code)), entry.code);
}

TEST_CASE("error: a code brings its kind") {
  CHECK(make_error("cannot-read", "gone").kind == ErrorKind::io);
  CHECK(make_error("unknown-target", "which").kind == ErrorKind::usage);
  CHECK(make_error("time-limit", "late").kind == ErrorKind::limit);
  const Result<int> result = make_error(ErrorKind::cancelled, "enough", "a user's own code");
  CHECK_FALSE(result.ok());
  CHECK(result.error().kind == ErrorKind::cancelled);
  CHECK(result.error().diagnostic.code == "enough");
}

TEST_CASE("error: names of kinds differ") {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::conflict); ++kind)
    names.insert(name_of(static_cast<ErrorKind>(kind)));
  CHECK(names.size() == static_cast<std::size_t>(ErrorKind::conflict) + 1);
  CHECK_FALSE(names.contains(""));
}

}  // namespace onnxkit::tests::base_error
