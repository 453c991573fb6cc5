#include "converters/formats/pt2/structure.h"

#include <doctest/doctest.h>

namespace onnxkit::tests::pt2_structure {
namespace {

const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";

std::string list_of(const std::string& children, const std::string& type = "builtins.tuple") {
  return R"({"type": ")" + type + R"(", "context": "null", "children_spec": [)" + children + "]}";
}
std::string dictionary_of(const std::string& keys, const std::string& children) {
  return R"({"type": "builtins.dict", "context": ")" + keys + R"(", "children_spec": [)" + children + "]}";
}
std::string version_1(const std::string& tree) { return "[1, " + tree + "]"; }

}  // namespace

using Names = std::vector<std::string_view>;

TEST_CASE("pt2: nested arguments are told by their names") {
  const std::string pair = list_of(leaf + "," + leaf, "builtins.list");
  const std::string arguments = list_of(leaf + "," + pair);
  const std::string keywords = dictionary_of(R"([\"mask\"])", leaf);
  CHECK(pt2::structure_of_inputs(version_1(list_of(arguments + "," + keywords)), Names{"x", "a", "b", "m"}) ==
        R"({"args":["x",["a","b"]],"kwargs":{"mask":"m"}})");
  const std::string result = dictionary_of(R"([\"y\", \"z\"])", leaf + "," + list_of(leaf));
  CHECK(pt2::structure_of_outputs(version_1(result), Names{"u", "v"}) == R"({"y":"u","z":["v"]})");
}

TEST_CASE("pt2: a plain list of tensors needs no structure") {
  const std::string plain = list_of(list_of(leaf + "," + leaf) + "," + dictionary_of("[]", ""));
  CHECK(pt2::structure_of_inputs(version_1(plain), Names{"x", "y"}).empty());
  CHECK(pt2::structure_of_outputs(version_1(leaf), Names{"y"}).empty());
  CHECK(pt2::structure_of_outputs(version_1(list_of(leaf + "," + leaf)), Names{"y", "z"}).empty());
}

TEST_CASE("pt2: a structure that is not understood is left out") {
  const std::string nested = list_of(list_of(leaf));
  CHECK(pt2::structure_of_outputs(version_1(nested), Names{}).empty());
  CHECK(pt2::structure_of_outputs(version_1(nested), Names{"y", "z"}).empty());
  CHECK(pt2::structure_of_outputs("[2, " + nested + "]", Names{"y"}).empty());
  CHECK(pt2::structure_of_outputs(version_1(list_of(list_of(leaf, "some.Class"))), Names{"y"}).empty());
  CHECK(pt2::structure_of_outputs(version_1(dictionary_of("[]", leaf)), Names{"y"}).empty());
  CHECK(pt2::structure_of_outputs(version_1(dictionary_of("{", leaf)), Names{"y"}).empty());
  CHECK(pt2::structure_of_outputs("", Names{"y"}).empty());
  CHECK(pt2::structure_of_inputs(version_1(leaf), Names{"y"}).empty());
}

}  // namespace onnxkit::tests::pt2_structure
