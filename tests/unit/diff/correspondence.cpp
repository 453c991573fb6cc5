#include "libonnxkit/diff/correspondence.h"

#include "tests/unit/support/results.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::diff_correspondence {

using diffing::correspond;
using diffing::InnerValue;

namespace {

/// What `op` makes of `from`: six numbers that begin with `first`.
InnerValue made(std::string name, std::string op, std::vector<std::size_t> from, float first,
                std::vector<std::int64_t> dims = {2, 3}) {
  std::vector<float> values;
  for (int i = 0; i < 6; ++i) values.push_back(first + static_cast<float>(i * i) / 8);
  return {std::move(name), std::move(op), std::move(from), diffing::summarize(floats(std::move(dims), values))};
}

std::string text(const std::vector<InnerValue>& base, const std::vector<InnerValue>& side,
                 const diffing::MatchOptions& options = {}) {
  std::string text;
  for (const diffing::ValuePair& pair : correspond(base, side, options))
    text += base[pair.base].name + "=" + side[pair.side].name + " " + std::string(name_of(pair.by)) + "\n";
  return text;
}

}  // namespace

TEST_CASE("correspondence: equal contents meet, in any order of axes and with axes of one element") {
  const std::vector<InnerValue> base = {made("a", "Conv", {}, 1, {2, 3}), made("b", "Relu", {0}, 2, {1, 3, 2})};
  const std::vector<InnerValue> side = {made("x", "conv2d", {}, 1, {3, 2}), made("y", "view", {0}, 5, {2, 3}),
                                        made("z", "relu", {1}, 2, {2, 3, 1})};
  CHECK(text(base, side) == "a=x content\nb=z content\n");
}

TEST_CASE("correspondence: what says little is not matched by content") {
  InnerValue mask = {"mask", "Not", {}, diffing::summarize(floats({2, 3}, {1, 1, 1, 1, 1, 1}))};
  InnerValue other = mask;
  other.name = "other";
  CHECK(text({mask}, {other}).empty());
}

TEST_CASE("correspondence: behind a fault values meet by where they lie") {
  const std::vector<InnerValue> base = {made("x", "input", {}, 0), made("a", "Conv", {0}, 1),
                                        made("b", "Relu", {1}, 2), made("c", "MaxPool", {2}, 3, {6})};
  const std::vector<InnerValue> side = {made("x", "input", {}, 0), made("p", "aten.conv2d.default", {0}, 7),
                                        made("q", "aten.relu.default", {1}, 8),
                                        made("r", "aten.max_pool2d.default", {2}, 9, {6})};
  CHECK(text(base, side) == "x=x name\na=p structure\nb=q structure\nc=r structure\n");
}

TEST_CASE("correspondence: where one side has fused nodes, contractions are not taken for each other") {
  const std::vector<InnerValue> base = {made("x", "input", {}, 0), made("a", "Conv", {0}, 1),
                                        made("b", "BatchNormalization", {1}, 2), made("c", "Relu", {2}, 3)};
  const std::vector<InnerValue> side = {made("x", "input", {}, 0), made("p", "Conv", {0}, 7),
                                        made("q", "Relu", {1}, 8)};
  CHECK(text(base, side) == "x=x name\nc=q structure\n");
}

TEST_CASE("correspondence: an equal name does not outweigh what a value holds and does") {
  const std::vector<InnerValue> base = {made("x", "input", {}, 0), made("1", "MatMul", {0}, 1),
                                        made("2", "Add", {1}, 2)};
  const std::vector<InnerValue> side = {made("x", "input", {}, 0), made("2", "MatMul", {0}, 1),
                                        made("3", "Add", {1}, 9)};
  CHECK(text(base, side) == "x=x name\n1=2 content\n2=3 structure\n");
}

TEST_CASE("correspondence: an equal name with an operator of its own is another value, and one of its kind the same") {
  const std::vector<InnerValue> base = {made("a", "Tanh", {}, 1), made("b", "Relu", {}, 2)};
  const std::vector<InnerValue> side = {made("a", "Exp", {}, 5), made("b", "Relu", {}, 6)};
  CHECK(text(base, side) == "b=b name\n");
}

TEST_CASE("correspondence: what the caller knows counts") {
  const std::vector<InnerValue> base = {made("y", "Mul", {}, 1)};
  const std::vector<InnerValue> side = {made("out", "shift", {}, 5)};
  CHECK(text(base, side).empty());
  CHECK(text(base, side, {.same = {{"y", "out"}}}) == "y=out name\n");
}

TEST_CASE("correspondence: rounded contents are close") {
  const std::vector<InnerValue> base = {made("a", "Exp", {}, 1)};
  const std::vector<InnerValue> side = {made("p", "exp", {}, 1.000001F)};
  CHECK(text(base, side).empty());
  CHECK(text(base, side, {.rounded = true}) == "a=p content\n");
}

}  // namespace onnxkit::tests::diff_correspondence
