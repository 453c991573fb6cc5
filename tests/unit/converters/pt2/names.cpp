#include "converters/formats/pt2/names.h"

#include <doctest/doctest.h>

namespace onnxkit::tests::pt2_names {

TEST_CASE("pt2: names that Python takes, each once") {
  pt2::Identifiers names;
  CHECK(names.make("x") == "x");
  CHECK(names.make("x") == "x_1");
  CHECK(names.make("x_1") == "x_1_1");
  CHECK(names.make("a.b/c:0") == "a_b_c_0");
  CHECK(names.make("a b") == "a_b");
  CHECK(names.make("7up") == "_7up");
  CHECK(names.make("") == "_");
  CHECK(names.make("class") == "class_");
  CHECK(names.make("\xc3\xa4") == "__");
}

TEST_CASE("pt2: no path of a parameter leads through another") {
  pt2::AttributePaths paths;
  CHECK(paths.make("layer.weight") == "layer.weight");
  CHECK(paths.make("layer.weight") == "layer.weight_1");
  CHECK(paths.make("layer") == "layer_1");
  CHECK(paths.make("layer.weight.more") == "layer.weight_more");
  CHECK(paths.make("layer.weight.more.and.more") == "layer.weight_more_and.more");
  CHECK(paths.make(".begins") == "_begins");
  CHECK(paths.make("a..b") == "a._b");
  CHECK(paths.make("ends.") == "ends._");
  CHECK(paths.make("") == "_");
}

}  // namespace onnxkit::tests::pt2_names
