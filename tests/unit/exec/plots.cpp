#include "libonnxkit/compare/plots.h"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::exec_plots {
namespace {

Tensor classes(std::vector<std::int64_t> dims, const std::vector<std::uint8_t>& values) {
  return stored(ElementType::uint8, std::move(dims), values);
}

}  // namespace

TEST_CASE("a scatter takes pairs evenly and bins the deviation by quarters of a decade") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto found =
      comparison::scatter_of(doubles({6}, {0, 0, 0, 0, 1, 0}), doubles({6}, {0.01, 0.02, 1, -5, 1, infinity}));
  CHECK(found.a.size() == 5);
  CHECK(found.zeros == 1);
  CHECK(found.lowest_exponent == -2);
  REQUIRE(found.histogram.size() == 11);
  CHECK(found.histogram[0] == 1);
  CHECK(found.histogram[1] == 1);
  CHECK(found.histogram[8] == 1);
  CHECK(found.histogram[10] == 1);
  const std::vector<double> many(5001, 2);
  const auto large = comparison::scatter_of(doubles({5001}, many), doubles({5001}, many));
  CHECK(large.a.size() == 2000);
  CHECK(large.zeros == 5001);
  CHECK(large.histogram.empty());
}

TEST_CASE("the whole range of double has bins") {
  const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  const auto found = comparison::scatter_of(doubles({3}, {0, 0, -most}), doubles({3}, {least, most, most}));
  CHECK(found.lowest_exponent == -324);
  CHECK(std::accumulate(found.histogram.begin(), found.histogram.end(), std::uint64_t{0}) == 3);
  CHECK(found.histogram.back() == 2);
}

TEST_CASE("class maps show the first sample that differs") {
  const auto found = comparison::class_maps_of(classes({2, 1, 2}, {1, 2, 3, 4}), classes({2, 1, 2}, {1, 2, 3, 5}));
  REQUIRE(found);
  CHECK(found->height == 1);
  CHECK(found->width == 2);
  CHECK(found->a == std::vector<std::uint16_t>{3, 4});
  CHECK(found->b == std::vector<std::uint16_t>{3, 5});
  const auto alike = comparison::class_maps_of(classes({2, 1, 2}, {1, 2, 3, 4}), classes({2, 1, 2}, {1, 2, 3, 4}));
  REQUIRE(alike);
  CHECK(alike->a == std::vector<std::uint16_t>{1, 2});
  const auto scores =
      comparison::class_maps_of(doubles({1, 2, 1, 2}, {0, 1, 1, 0}), doubles({1, 2, 1, 2}, {0, 1, 1, 2}));
  REQUIRE(scores);
  CHECK(scores->a == std::vector<std::uint16_t>{1, 0});
  CHECK(scores->b == std::vector<std::uint16_t>{1, 1});
  CHECK_FALSE(comparison::class_maps_of(doubles({2}, {1, 2}), doubles({2}, {1, 2})));
  CHECK_FALSE(comparison::class_maps_of(classes({1, 1, 1}, {1}), classes({1, 1, 2}, {1, 2})));
}

}  // namespace onnxkit::tests::exec_plots
