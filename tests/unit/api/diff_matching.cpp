#include "libonnxkit/diff/matching.h"

#include <doctest/doctest.h>

#include <numeric>

#include "libonnxkit/base/dtype/dtype.h"
#include "onnxkit/model.h"

namespace onnxkit::tests::api_diff_matching {

using diffing::inputs_for;
using diffing::matched_outputs;
using exec::ValueDesc;

namespace {

using Dims = std::vector<std::int64_t>;

Tensor floats(const Dims& dims, float first = 0) {
  const auto count = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  const auto bytes = std::as_bytes(std::span(values));
  return *Tensor::from_bytes(ElementType::float32, dims, {bytes.begin(), bytes.end()});
}

Tensor integers(const Dims& dims) {
  const auto count = std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  return *Tensor::from_bytes(ElementType::int64, dims, std::vector<std::byte>(count * 8));
}

ValueDesc desc(const std::string& name, const Dims& dims, ElementType type = ElementType::float32,
               bool optional = false) {
  ValueDesc made;
  made.name = name;
  made.type = type;
  made.has_shape = true;
  made.dims = dims;
  made.optional = optional;
  return made;
}

std::vector<std::string> names(const std::vector<NamedValue>& values) {
  std::vector<std::string> all;
  for (const NamedValue& value : values) all.push_back(value.name);
  return all;
}

std::string message(const Error& error) { return error.diagnostic.message; }

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("inputs go by their names, whatever the order") {
  const InputSet set{"s", {{"a", floats({2})}, {"b", floats({2}, 5)}}};
  const auto inputs = inputs_for(std::vector{desc("b", {2}), desc("a", {2})}, set, {});
  REQUIRE(inputs);
  CHECK(names(inputs->values) == Names{"b", "a"});
  CHECK(to_reals(inputs->values[0].value.tensor)[0] == 5);
}

TEST_CASE("names that the user gives win") {
  const InputSet set{"s", {{"a", floats({2})}, {"b", floats({2}, 5)}}};
  const auto inputs = inputs_for(std::vector{desc("p", {2}), desc("q", {2})}, set, {{"a", "q"}, {"b", "p"}});
  REQUIRE(inputs);
  CHECK(to_reals(inputs->values[0].value.tensor)[0] == 5);
  CHECK(to_reals(inputs->values[1].value.tensor)[0] == 0);
}

TEST_CASE("one input that is left over on both sides is the same") {
  const InputSet set{"s", {{"a", floats({2})}, {"b", floats({3}, 5)}}};
  const auto inputs = inputs_for(std::vector{desc("serving_default_b:0", {-1}), desc("a", {2})}, set, {});
  REQUIRE(inputs);
  CHECK(to_reals(inputs->values[0].value.tensor)[0] == 5);
}

TEST_CASE("several are told apart by type and shape") {
  const InputSet set{"s", {{"ids", integers({1, 7})}, {"mask", floats({1, 7})}, {"image", floats({1, 3, 4, 5})}}};
  const std::vector<ValueDesc> descs = {desc("x", {-1, 3, 4, 5}), desc("y", {1, 7}, ElementType::int64),
                                        desc("z", {1, -1})};
  const auto inputs = inputs_for(descs, set, {});
  REQUIRE(inputs);
  CHECK(inputs->values[0].value.tensor.dims() == Dims{1, 3, 4, 5});
  CHECK(inputs->values[1].value.tensor.type() == ElementType::int64);
  CHECK(inputs->values[2].value.tensor.dims() == Dims{1, 7});
}

TEST_CASE("inputs that could be either way are not guessed") {
  const InputSet set{"s", {{"a", floats({2})}, {"b", floats({2})}}};
  const auto inputs = inputs_for(std::vector{desc("p", {2}), desc("q", {2})}, set, {});
  REQUIRE_FALSE(inputs);
  CHECK(inputs.error().diagnostic.code == "input-missing");
  CHECK(message(inputs.error()) == R"(the inputs do not match: the model has "p", "q"; given: "a", "b")");
}

TEST_CASE("an input that need not be given may be left out") {
  const InputSet set{"s", {{"a", floats({2})}}};
  const auto inputs = inputs_for(std::vector{desc("a", {2}), desc("w", {2}, ElementType::float32, true)}, set, {});
  REQUIRE(inputs);
  CHECK(names(inputs->values) == Names{"a"});
}

TEST_CASE("channels move to where an input has them") {
  const Tensor image = floats({1, 3, 2, 2});
  const Value moved = diffing::fitted(image, desc("x", {-1, 2, 2, 3}));
  CHECK(moved.tensor.dims() == Dims{1, 2, 2, 3});
  CHECK(to_reals(moved.tensor) == std::vector<double>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  const Value back = diffing::fitted(moved, desc("x", {1, 3, 2, 2}));
  CHECK(back.tensor.dims() == image.dims());
  CHECK(to_reals(back.tensor) == to_reals(image));
}

TEST_CASE("channels stay where the shape fits as it is, or no order fits") {
  CHECK(diffing::fitted(floats({1, 3, 3, 3}), desc("x", {1, 3, 3, 3})).tensor.dims() == Dims{1, 3, 3, 3});
  CHECK(diffing::fitted(floats({1, 3, 2, 4}), desc("x", {1, 5, 5, 5})).tensor.dims() == Dims{1, 3, 2, 4});
  CHECK(diffing::fitted(floats({1, 3, 4}), desc("x", {1, 5, 6})).tensor.dims() == Dims{1, 3, 4});
  CHECK(diffing::fitted(floats({1, 3, 4}), desc("x", {1, 4, 3})).tensor.dims() == Dims{1, 4, 3});
  CHECK(diffing::fitted(floats({3, 4}), desc("x", {4, 3})).tensor.dims() == Dims{3, 4});
  // Both orders would fit: [1, 4, 5, -1] from [1, 3, 4, 5] is channels last, [1, 5, 3, 4] is the way back.
  CHECK(diffing::fitted(floats({1, 3, 4, 5}), desc("x", {1, 4, -1, 3})).tensor.dims() == Dims{1, 4, 5, 3});
  CHECK(diffing::fitted(floats({1, 2, 3, 4, 5}), desc("x", {1, 3, 4, 5, 2})).tensor.dims() == Dims{1, 3, 4, 5, 2});
}

TEST_CASE("a graph's inputs go by name, or as the only one left") {
  const auto model = read_model_bytes(
      R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] a, float[2] b) => (float[2] y) { y = Add (a, b) })", "m");
  REQUIRE(model);
  const auto graph = exec::describe_inputs(*model->ir().graph);
  const auto both = inputs_for(graph, {"s", {{"x", floats({2}, 7)}, {"a", floats({2})}}}, {});
  REQUIRE(both);
  CHECK(to_reals(both->values[0].value.tensor)[0] == 0);
  CHECK(to_reals(both->values[1].value.tensor)[0] == 7);
  const auto named = inputs_for(graph, {"s", {{"p", floats({2}, 7)}, {"q", floats({2})}}}, {{"p", "a"}, {"q", "b"}});
  REQUIRE(named);
  CHECK(to_reals(named->values[0].value.tensor)[0] == 7);
  const auto missing = inputs_for(graph, {"s", {{"p", floats({2})}, {"q", floats({2})}}}, {});
  REQUIRE_FALSE(missing);
  CHECK(message(missing.error()) == R"(the inputs do not match: the model has "a", "b"; given: "p", "q")");
}

TEST_CASE("outputs are brought under the names of the first side") {
  const std::vector<NamedValue> wanted = {{"label", integers({1})}, {"scores", floats({1, 10})}};
  SUBCASE("by name, and what is not wanted is left out") {
    const auto found =
        matched_outputs({{"more", floats({3})}, {"scores", floats({1, 10})}, {"label", integers({1})}}, wanted, {});
    REQUIRE(found);
    CHECK(names(found->values) == Names{"label", "scores"});
    CHECK(found->values[1].value.tensor.dims() == Dims{1, 10});
  }
  SUBCASE("by type and shape") {
    const auto found = matched_outputs({{"output_0", floats({1, 10})}, {"output_1", integers({1})}}, wanted, {});
    REQUIRE(found);
    CHECK(found->values[0].value.tensor.type() == ElementType::int64);
    CHECK(found->moved.empty());
  }
  SUBCASE("by the user's names, and others by their own") {
    const auto found = matched_outputs({{"s", floats({1, 10})}, {"label", integers({1})}}, wanted, {{"scores", "s"}});
    REQUIRE(found);
    CHECK(found->values[1].value.tensor.dims() == Dims{1, 10});
    CHECK(matched_outputs({{"scores", floats({1, 10})}, {"label", integers({1})}}, wanted, {{"scores", "s"}}));
  }
  SUBCASE("or not at all") {
    const auto found = matched_outputs({{"p", floats({1, 10})}, {"q", floats({1, 10})}}, wanted, {});
    REQUIRE_FALSE(found);
    CHECK(message(found.error()) == R"(no output matches "label", "scores"; this side has "p", "q")");
  }
}

TEST_CASE("an output that is missing leaves the others") {
  const std::vector<NamedValue> wanted = {{"label", integers({1})}, {"scores", floats({1, 10})}};
  const auto found =
      matched_outputs({{"p", floats({1, 10})}, {"q", floats({1, 10})}, {"label", integers({1})}}, wanted, {});
  REQUIRE(found);
  CHECK(names(found->values) == Names{"label", "scores"});
  CHECK(found->values[1].value.kind == ValueKind::none);
  CHECK(found->absent.at("scores") == R"(no output of this side matches it; it has "p", "q", "label")");
}

TEST_CASE("an input is cast to the floating type that a side takes") {
  const InputSet set{"s", {{"a", floats({2}, 1)}}};
  const auto inputs = inputs_for(std::vector{desc("a", {2}, ElementType::float16)}, set, {});
  REQUIRE(inputs);
  CHECK(inputs->values[0].value.tensor.type() == ElementType::float16);
  CHECK(to_reals(inputs->values[0].value.tensor) == std::vector<double>{1, 2});
  CHECK(inputs->cast == Names{"a"});
}

TEST_CASE("outputs get the layout of the first side, which is told") {
  const std::vector<NamedValue> wanted = {{"y", floats({1, 3, 2, 2})}};
  const auto found = matched_outputs({{"out", floats({1, 2, 2, 3})}}, wanted, {});
  REQUIRE(found);
  CHECK(found->values[0].value.tensor.dims() == Dims{1, 3, 2, 2});
  CHECK(found->moved == Names{"y"});
  CHECK(to_reals(found->values[0].value.tensor) == std::vector<double>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  const auto other = matched_outputs({{"out", floats({1, 2, 5})}}, {{"y", floats({1, 3, 4})}}, {});
  REQUIRE(other);
  CHECK(other->values[0].value.tensor.dims() == Dims{1, 2, 5});
  CHECK(other->moved.empty());
}

}  // namespace onnxkit::tests::api_diff_matching
