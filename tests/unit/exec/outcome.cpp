#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libonnxkit/compare/outcome/outcome.h"
#include "libonnxkit/compare/outcome/task_registry.h"
#include "onnxkit/metrics.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::exec_outcome {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

Tensor zeros(ElementType type, std::vector<std::int64_t> dims) {
  std::int64_t count = storage_bits(type) / 8;
  for (const std::int64_t dim : dims) count *= dim;
  return *Tensor::from_bytes(type, std::move(dims), std::vector<std::byte>(static_cast<std::size_t>(count)));
}

double figure(const Outcome& outcome, std::string_view name) {
  for (const auto& [key, value] : outcome.figures) {
    if (key == name) return value;
  }
  return -1;
}

std::string code(const Result<Outcome>& found) {
  REQUIRE_FALSE(found);
  return found.error().diagnostic.code;
}

}  // namespace

TEST_CASE("every task says what it is for, and no tensor is claimed by two") {
  std::vector<std::string_view> names;
  for (const TaskInfo& task : tasks()) {
    CHECK_FALSE(task.meaning.empty());
    names.push_back(task.name);
  }
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const char* name : {"detections", "logits", "segmentation", "tokens"})
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  for (const ElementType type : {ElementType::float32, ElementType::int64, ElementType::uint8}) {
    for (const std::vector<std::int64_t>& dims :
         {std::vector<std::int64_t>{}, {9}, {1, 9}, {2, 9, 9}, {1, 9, 9, 9}, {1, 1, 9, 9, 9}}) {
      const Tensor tensor = zeros(type, dims);
      const auto& all = comparison::task_registry().tasks();
      CHECK(std::count_if(all.begin(), all.end(),
                          [&](const auto& task) { return task.is_likely && task.is_likely(tensor); }) <= 1);
    }
  }
  CHECK(code(outcome("none such", zeros(ElementType::float32, {1}), zeros(ElementType::float32, {1}))) ==
        "unknown-option");
}

TEST_CASE("a task is guessed from shape and type") {
  const auto guess = [](ElementType type, std::vector<std::int64_t> dims) {
    return guess_task(zeros(type, std::move(dims)));
  };
  CHECK(guess(ElementType::float32, {1, 1000}) == "logits");
  CHECK(guess(ElementType::float16, {2, 5, 2}) == "logits");
  CHECK(guess(ElementType::float32, {1, 1}) == "none");
  CHECK(guess(ElementType::float32, {10}) == "none");
  CHECK(guess(ElementType::float32, {1, 21, 8, 8}) == "segmentation");
  CHECK(guess(ElementType::float32, {1, 513, 8, 8}) == "none");
  CHECK(guess(ElementType::float32, {1, 21, 7, 8}) == "none");
  CHECK(guess(ElementType::int64, {1, 20}) == "tokens");
  CHECK(guess(ElementType::int32, {20}) == "tokens");
  CHECK(guess(ElementType::uint8, {20}) == "none");
  CHECK(guess(ElementType::int64, {1, 8, 8}) == "none");
  CHECK(guess(ElementType::float64, {}) == "none");
}

TEST_CASE("boxes with scores beside them are no logits") {
  const auto table = [](std::vector<std::int64_t> dims, std::size_t rows, auto number) {
    const std::size_t columns = 9;
    std::vector<float> numbers;
    const bool is_turned = static_cast<std::size_t>(dims.back()) == rows;
    for (std::size_t i = 0; i < rows * columns; ++i)
      numbers.push_back(is_turned ? number(i % rows, i / rows) : number(i / columns, i % columns));
    return guess_task(floats(std::move(dims), numbers));
  };
  // Corners in pixels, then scores; also with the number of the picture before them and a label behind.
  const auto box = [](std::size_t row, std::size_t column) {
    const auto at = static_cast<float>(row + column);
    return column < 4 ? 2.25F * at + 1 : 0.03F * at;
  };
  const auto labelled = [](std::size_t row, std::size_t column) {
    const auto at = static_cast<float>(row + column);
    return column == 0 ? 0 : column < 5 ? 2.25F * at - 3 : column == 8 ? static_cast<float>(row % 3) : 0.02F * at;
  };
  const auto logits = [](std::size_t row, std::size_t column) {
    return 3 * std::sin(static_cast<float>(7 * row + 3 * column));
  };
  CHECK(table({1, 20, 9}, 20, box) == "none");
  CHECK(table({20, 9}, 20, box) == "none");
  CHECK(table({1, 9, 20}, 20, box) == "none");
  CHECK(table({20, 9}, 20, labelled) == "none");
  CHECK(table({1, 20, 9}, 20, logits) == "logits");
  CHECK(table({3, 9}, 3, box) == "logits");  // too few rows to tell
}

TEST_CASE("logits: argmax, the top five and divergence") {
  const Tensor a = floats({2, 6}, {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1});
  const Tensor b = floats({2, 6}, {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 1, 2});
  const auto found = outcome("logits", a, b);
  REQUIRE(found);
  CHECK(found->same);
  CHECK(figure(*found, "argmax agreement") == 1);
  CHECK(figure(*found, "top-5 agreement") == 0.5);
  CHECK(figure(*found, "largest KL divergence") > 0);
  CHECK(figure(*found, "mean KL divergence") == doctest::Approx(figure(*found, "largest KL divergence") / 2));
  CHECK(found->confusion == std::vector<std::array<std::uint64_t, 3>>{{0, 0, 1}, {5, 5, 1}});
}

TEST_CASE("logits: divergence of probabilities and of the softmax") {
  const auto largest = [](const Tensor& a, const Tensor& b) {
    const auto found = outcome("logits", a, b);
    REQUIRE(found);
    return figure(*found, "largest KL divergence");
  };
  const double expected = 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75);
  CHECK(largest(floats({1, 2}, {0.5, 0.5}), floats({1, 2}, {0.25, 0.75})) == doctest::Approx(expected).epsilon(1e-14));
  CHECK(largest(floats({1, 2}, {1, 0}), floats({1, 2}, {0, 1})) == std::numeric_limits<double>::infinity());
  CHECK(largest(floats({1, 2}, {3, 3}), floats({1, 2}, {8, 8})) == 0);
  CHECK(largest(floats({1, 2}, {2, -infinity}), floats({1, 2}, {3, -infinity})) == 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(largest(floats({1, 2}, {nan, 1}), floats({1, 2}, {1, 1})) == -1);
}

TEST_CASE("segmentation: of scores and of class numbers") {
  const auto of_numbers = outcome("segmentation", integers({1, 1, 4}, {0, 0, 1, 5}), integers({1, 1, 4}, {0, 1, 1, 5}));
  REQUIRE(of_numbers);
  CHECK_FALSE(of_numbers->same);
  CHECK(figure(*of_numbers, "pixel agreement") == 0.75);
  CHECK(figure(*of_numbers, "mean IoU") == doctest::Approx(2.0 / 3));
  CHECK(figure(*of_numbers, "lowest IoU of a class") == 0.5);
  CHECK(of_numbers->class_iou == std::vector<double>{0.5, 0.5, -1, -1, -1, 1});
  const auto of_scores =
      outcome("segmentation", floats({1, 3, 1, 2}, {1, 0, 2, 0, 0, 0}), floats({1, 3, 1, 2}, {1, 0, 2, 1, 0, 0}));
  REQUIRE(of_scores);
  CHECK(figure(*of_scores, "pixel agreement") == 0.5);
  CHECK(of_scores->class_iou == std::vector<double>{0, 0.5, -1});
}

TEST_CASE("detections: the highest score takes the box that it overlaps most") {
  const Tensor a = floats({3, 4}, {0, 0, 10, 10, 0, 0, 10, 9, 50, 50, 60, 60});
  const Tensor b = floats({2, 4}, {0, 0, 10, 9, 50, 50, 60, 66});
  const auto found = outcome("detections", a, b, floats({3}, {0.5, 0.9, 0.7}), floats({2}, {0.75, 0.7}));
  REQUIRE(found);
  CHECK_FALSE(found->same);
  CHECK(figure(*found, "matched at IoU 0.5") == doctest::Approx(2.0 / 3));
  CHECK(figure(*found, "matched at IoU 0.75") == doctest::Approx(1.0 / 3));
  CHECK(figure(*found, "mean IoU of matches") == doctest::Approx((1 + 100.0 / 160) / 2));
  CHECK(figure(*found, "largest score difference of matches") == doctest::Approx(0.15).epsilon(1e-6));
  CHECK(figure(*found, "boxes of a") == 3);
  CHECK(figure(*found, "boxes of b") == 2);
  const auto alike = outcome("detections", a, a);
  REQUIRE(alike);
  CHECK(alike->same);
  CHECK(figure(*alike, "largest score difference of matches") == -1);
}

TEST_CASE("tokens: single ones, sequences and where they part") {
  const auto found = outcome("tokens", integers({2, 3}, {1, 2, 3, 4, 5, 6}), integers({2, 3}, {1, 2, 3, 4, 7, 8}));
  REQUIRE(found);
  CHECK_FALSE(found->same);
  CHECK(figure(*found, "token agreement") == doctest::Approx(4.0 / 6));
  CHECK(figure(*found, "sequence agreement") == 0.5);
  CHECK(figure(*found, "first difference") == 1);
  const auto alike = outcome("tokens", integers({2}, {1, 2}), integers({2}, {1, 2}));
  REQUIRE(alike);
  CHECK(alike->same);
  CHECK(figure(*alike, "first difference") == -1);
}

TEST_CASE("outcomes ask for a form") {
  const Tensor row = floats({3}, {1, 2, 3});
  CHECK(code(outcome("segmentation", row, row)) == "outcome-shape");
  CHECK(code(outcome("detections", row, row)) == "outcome-shape");
  CHECK(code(outcome("logits", floats({3, 1}, {1, 2, 3}), floats({3, 1}, {1, 2, 3}))) == "outcome-shape");
  CHECK(code(outcome("logits", row, floats({1, 3}, {1, 2, 3}))) == "shape-mismatch");
  CHECK(code(outcome("tokens", row, row)) == "undefined-for-type");
  const Tensor boxes = zeros(ElementType::float32, {2, 4});
  CHECK(code(outcome("detections", boxes, boxes, row, row)) == "shape-mismatch");
  const Tensor text = *Tensor::from_strings({1, 1}, {"a"});
  CHECK(code(outcome("logits", text, text)) == "undefined-for-type");
  CHECK(code(outcome("detections", boxes, boxes, *Tensor::from_strings({2}, {"a", "b"}))) == "undefined-for-type");
  CHECK(code(outcome("segmentation", integers({1, 1, 1}, {65'536}), integers({1, 1, 1}, {0}))) == "outcome-shape");
  const auto none = outcome("none", text, text);
  REQUIRE(none);
  CHECK(none->figures.empty());
}

}  // namespace onnxkit::tests::exec_outcome
