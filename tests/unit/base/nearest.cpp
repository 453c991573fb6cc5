#include "libonnxkit/base/text/nearest.h"

#include <doctest/doctest.h>

#include <string>

namespace onnxkit::tests::base_nearest {

TEST_CASE("the nearest of some words") {
  const std::string_view words[] = {"check", "convert", "infer", "json", "Softmax"};
  CHECK(nearest("chek", words) == "check");
  CHECK(nearest("checks", words) == "check");
  CHECK(nearest("chack", words) == "check");
  CHECK(nearest("softmax", words) == "Softmax");
}

TEST_CASE("swapped letters are one mistake") {
  const std::string_view words[] = {"check", "json"};
  CHECK(nearest("chekc", words) == "check");
  CHECK(nearest("jsno", words) == "json");
  CHECK(nearest("sjno", words).empty());
}

TEST_CASE("a word that was not written to its end") {
  const std::string_view words[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  CHECK(nearest("SAMEUP", words) == "SAME_UPPER");
  CHECK(nearest("same_", words).empty());
}

TEST_CASE("what is far from all words has no nearest") {
  const std::string_view words[] = {"check", "json"};
  CHECK(nearest("", words).empty());
  CHECK(nearest("frobnicate", words).empty());
  CHECK(nearest(std::string(10000, 'c'), words).empty());
  CHECK(nearest("check", {}).empty());
}

}  // namespace onnxkit::tests::base_nearest
