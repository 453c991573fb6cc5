// Which runs plans have a model in common for (libonnxkit/plan/generic_model.h); tests/plan_sizes compares the plans.
#include "libonnxkit/plan/generic_model.h"

#include <doctest/doctest.h>

#include <limits>

namespace onnxkit::tests::generic_model {
namespace {

using Sizes = std::vector<plan::InputSizes>;

Sizes cache_and_mask(std::int64_t past, std::int64_t total) {
  return {{"cache", ElementType::float32, {1, past, 4}}, {"mask", ElementType::int64, {1, total}}};
}

TEST_CASE("plans of changing sizes: what changes by the same number stays that number apart") {
  const auto pattern = plan::SizePattern::between(cache_and_mask(7, 8), cache_and_mask(9, 10));
  REQUIRE(pattern);
  CHECK(pattern->fits(cache_and_mask(7, 8)));
  CHECK(pattern->fits(cache_and_mask(2, 3)));
  CHECK(pattern->fits(
      cache_and_mask(std::numeric_limits<std::int64_t>::max() - 1, std::numeric_limits<std::int64_t>::max())));
  CHECK_FALSE(pattern->fits(cache_and_mask(7, 9)));
  CHECK_FALSE(pattern->fits(cache_and_mask(1, 2)));  // an axis of size 1 is broadcast
  CHECK_FALSE(pattern->fits(cache_and_mask(-1, 0)));
}

TEST_CASE("plans of changing sizes: what changes by other numbers is free") {
  const auto pattern = plan::SizePattern::between(cache_and_mask(7, 8), cache_and_mask(9, 20));
  REQUIRE(pattern);
  CHECK(pattern->fits(cache_and_mask(7, 9)));
  CHECK(pattern->fits(cache_and_mask(300, 2)));
  CHECK_FALSE(pattern->fits(cache_and_mask(300, 1)));
}

TEST_CASE("plans of changing sizes: all else has to be the same") {
  const Sizes given = cache_and_mask(7, 8);
  CHECK_FALSE(plan::SizePattern::between(given, given));
  CHECK_FALSE(plan::SizePattern::between(given, cache_and_mask(1, 2)));
  const auto differs = [&](const auto& change) {
    Sizes other = cache_and_mask(9, 10);
    change(other);
    const auto pattern = plan::SizePattern::between(given, cache_and_mask(8, 9));
    return !plan::SizePattern::between(given, other) && !pattern->fits(other);
  };
  CHECK(differs([](Sizes& sizes) { sizes[0].name = "past"; }));
  CHECK(differs([](Sizes& sizes) { sizes[0].type = ElementType::float16; }));
  CHECK(differs([](Sizes& sizes) { sizes[0].dims.push_back(1); }));
  CHECK(differs([](Sizes& sizes) { sizes.pop_back(); }));
  Sizes batch = cache_and_mask(9, 10);
  batch[0].dims[0] = 2;
  CHECK_FALSE(plan::SizePattern::between(given, cache_and_mask(8, 9))->fits(batch));
}

TEST_CASE("plans of changing sizes: values that are no tensors have none") {
  Value list;
  list.kind = ValueKind::sequence;
  const std::vector<NamedValue> given = {{"list", list}};
  CHECK_FALSE(plan::sizes_of(given));
}

}  // namespace
}  // namespace onnxkit::tests::generic_model
