#include "onnxkit/value.h"

#include <doctest/doctest.h>

namespace onnxkit::tests::base_value {
namespace {

Tensor floats(std::vector<std::int64_t> dims, std::size_t count) {
  return *Tensor::from_bytes(ElementType::float32, std::move(dims), std::vector<std::byte>(4 * count));
}

}  // namespace

TEST_CASE("a tensor takes exactly the bytes that its type and dims ask for") {
  const auto tensor = Tensor::from_bytes(ElementType::int4, {3, 1}, std::vector<std::byte>(2, std::byte{0x21}));
  REQUIRE(tensor);
  CHECK(tensor->size() == 3);
  CHECK(tensor->bytes().size() == 2);
  CHECK(tensor->strings().empty());
  const Tensor copy = *tensor;
  CHECK(copy.bytes().data() == tensor->bytes().data());

  const auto fails = [](ElementType type, std::vector<std::int64_t> dims, std::size_t bytes) {
    const auto made = Tensor::from_bytes(type, std::move(dims), std::vector<std::byte>(bytes));
    return !made && made.error().diagnostic.code == "tensor-size";
  };
  CHECK(fails(ElementType::int4, {3}, 1));
  CHECK(fails(ElementType::int4, {3}, 3));
  CHECK(fails(ElementType::float32, {-1}, 4));
  CHECK(fails(ElementType::float32, {std::int64_t{1} << 62, 8}, 0));
  CHECK(fails(ElementType::string, {0}, 0));
  CHECK(fails(ElementType::undefined, {}, 0));
  CHECK(floats({0, 5}, 0).size() == 0);
  CHECK(floats({}, 1).size() == 1);
}

TEST_CASE("a view keeps its owner alive") {
  auto owner = std::make_shared<std::vector<std::byte>>(8);
  std::weak_ptr<std::vector<std::byte>> watch = owner;
  {
    const std::span<const std::byte> bytes = *owner;
    auto tensor = Tensor::view(ElementType::int64, {1}, bytes, std::move(owner));
    REQUIRE(tensor);
    CHECK(!watch.expired());
  }
  CHECK(watch.expired());
}

TEST_CASE("tensors of strings") {
  const auto tensor = Tensor::from_strings({2}, {"a", std::string("b\0c", 3)});
  REQUIRE(tensor);
  CHECK(tensor->type() == ElementType::string);
  CHECK(tensor->strings()[1].size() == 3);
  CHECK(tensor->bytes().empty());
  CHECK(!Tensor::from_strings({3}, {"a"}));
  CHECK(!Tensor::from_strings({-1, -1}, {"a"}));
}

TEST_CASE("values name their types") {
  const Value one = floats({2, 3}, 6);
  CHECK(type_text(one) == "float[2, 3]");
  CHECK(type_text(floats({}, 1)) == "float[]");
  CHECK(type_text(Value()) == "none");
  CHECK(type_text(Value::sequence({one, floats({}, 1), one})) == "seq(3 x float)");
  CHECK(type_text(Value::sequence({one, *Tensor::from_strings({0}, {})})) == "seq(2 x mixed)");
  CHECK(type_text(Value::sequence({}, ElementType::int64)) == "seq(0 x int64)");
  CHECK(type_text(Value::sequence({})) == "seq(0 x ?)");
  CHECK(type_text(Value::sequence({Value::sequence({one})})) == "seq(1 x seq(1 x float))");
  CHECK(type_text(Value::optional(std::nullopt)) == "optional(empty)");
  CHECK(type_text(Value::optional(one)) == "optional(float[2, 3])");
  CHECK(type_text(Value::map(*Tensor::from_strings({4}, {"a", "b", "c", "d"}), floats({4}, 4))) ==
        "map(string, float; 4 keys)");
}

}  // namespace onnxkit::tests::base_value
