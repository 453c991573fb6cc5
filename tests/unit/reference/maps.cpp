// Operators whose inputs or outputs are maps, which cases of operators cannot state. Expected values: ONNX Runtime 1.31.1.
#include <doctest/doctest.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/wire/text.h"
#include "reference/executor/executor.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::reference_maps {
namespace {

std::vector<double> numbers_of(const Value& value) {
  std::vector<double> numbers(static_cast<std::size_t>(value.tensor.size()));
  if (domain_of(value.tensor.type()) == Domain::real) {
    decode(value.tensor.type(), value.tensor.bytes(), std::span<double>(numbers));
  } else {
    std::vector<std::int64_t> whole(numbers.size());
    decode(value.tensor.type(), value.tensor.bytes(), std::span<std::int64_t>(whole));
    numbers.assign(whole.begin(), whole.end());
  }
  return numbers;
}

Result<Value> run(const std::string& signature, const std::string& node, const Value& input) {
  const std::string text = "<ir_version: 8, opset_import: [\"\": 17, \"ai.onnx.ml\": 1]>\nmain (" + signature +
                           " x) => (y) { y = ai.onnx.ml." + node + " }";
  const auto model = wire::parse_text(text, "maps");
  REQUIRE_MESSAGE(model, (model ? "" : model.error().diagnostic.message));
  const spec::OpTable table;
  const auto session = reference::Executor::make(*model, table, {});
  REQUIRE_MESSAGE(session, (session ? "" : session.error().diagnostic.message));
  const std::vector<Value> inputs{input};
  auto outputs = (*session)->run(inputs, {});
  if (!outputs) return outputs.error();
  return outputs->front();
}

}  // namespace

TEST_CASE("DictVectorizer looks keys up in its vocabulary") {
  const auto y = run("map(string, float)", "DictVectorizer <string_vocabulary = [\"a\", \"c\", \"b\", \"z\"]> (x)",
                     Value::map(words({"a", "c", "q"}), floats({4, 8, 1})));
  REQUIRE(y);
  CHECK(y->tensor.dims() == std::vector<std::int64_t>{1, 4});
  CHECK(numbers_of(*y) == std::vector<double>{4, 8, 0, 0});
  const auto z = run("map(int64, float)", "DictVectorizer <int64_vocabulary = [3, 1, 2]> (x)",
                     Value::map(integers({1, 3}), floats({1.5, 2.5})));
  REQUIRE(z);
  CHECK(numbers_of(*z) == std::vector<double>{2.5, 1.5, 0});
}

TEST_CASE("CastMap orders values by key") {
  const Value map = Value::map(integers({5, 2, 9}), floats({1.5, -2.25, 1e10}));
  const auto dense = run("map(int64, float)", "CastMap <cast_to = \"TO_FLOAT\"> (x)", map);
  REQUIRE(dense);
  CHECK(numbers_of(*dense) == std::vector<double>{-2.25, 1.5, 1e10});
  const auto whole = run("map(int64, float)", "CastMap <cast_to = \"TO_INT64\"> (x)", map);
  REQUIRE(whole);
  CHECK(numbers_of(*whole) == std::vector<double>{-2, 1, 1e10});
  const auto text = run("map(int64, float)", "CastMap <cast_to = \"TO_STRING\"> (x)", map);
  REQUIRE(text);
  CHECK(text->tensor.strings()[0] == "-2.250000");
  CHECK(text->tensor.strings()[2] == "10000000000.000000");
}

TEST_CASE("CastMap places values by key in a sparse row") {
  const Value map = Value::map(integers({3, 0}), floats({1.5, -2.25}));
  const auto row = run("map(int64, float)", "CastMap <map_form = \"SPARSE\", max_map = 4> (x)", map);
  REQUIRE(row);
  CHECK(numbers_of(*row) == std::vector<double>{-2.25, 0, 0, 1.5});
  const auto narrow = run("map(int64, float)", "CastMap <map_form = \"SPARSE\", max_map = 3> (x)", map);
  REQUIRE_FALSE(narrow);
  CHECK(narrow.error().diagnostic.code == "kernel");
}

TEST_CASE("ZipMap makes a map of each row") {
  const Tensor flat = floats({1, 2, 3, 4});
  const Tensor x = *Tensor::from_bytes(ElementType::float32, {2, 2}, {flat.bytes().begin(), flat.bytes().end()});
  const auto maps = run("float[2, 2]", "ZipMap <classlabels_strings = [\"a\", \"b\"]> (x)", Value(x));
  REQUIRE(maps);
  REQUIRE(maps->kind == ValueKind::sequence);
  REQUIRE(maps->items.size() == 2);
  CHECK(maps->items[1].kind == ValueKind::map);
  CHECK(maps->items[1].tensor.strings()[1] == "b");
  CHECK(numbers_of(maps->items[1].items.front()) == std::vector<double>{3, 4});
}

}  // namespace onnxkit::tests::reference_maps
