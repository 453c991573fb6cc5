// Views of buffers (libonnxkit/plan/view.h).
#include "libonnxkit/plan/view.h"

#include <doctest/doctest.h>

namespace onnxkit::tests::plan_view {
namespace {

using plan::Dims;
using plan::View;

View contiguous(Dims dims) {
  View view{.buffer = 0, .type = ElementType::float32, .offset = 0, .dims = dims, .strides = {}};
  view.strides = plan::row_major_strides(dims);
  return view;
}

TEST_CASE("a transposed view is dense and not contiguous") {
  constexpr std::int64_t order[] = {0, 2, 3, 1};
  const View view = plan::permuted(contiguous({2, 3, 4, 5}), order);
  CHECK(view.dims == Dims{2, 4, 5, 3});
  CHECK(view.strides == Dims{60, 5, 1, 20});
  CHECK(view.is_dense());
  CHECK_FALSE(view.is_contiguous());
}

TEST_CASE("axes of one element do not matter") {
  View view = contiguous({1, 6});
  view.strides[0] = 77;
  CHECK(view.is_contiguous());
}

TEST_CASE("a slice with a negative step begins at its last element") {
  const View view = plan::sliced(contiguous({2, 10}), 1, 9, -2, 5);
  CHECK(view.offset == 9);
  CHECK(view.dims == Dims{2, 5});
  CHECK(view.strides == Dims{10, -2});
}

TEST_CASE("reshapes that strides can say") {
  constexpr std::int64_t order[] = {1, 0};
  const View transposed = plan::permuted(contiguous({6, 4}), order);
  const auto split = plan::try_reshaped(transposed, {4, 2, 3});
  REQUIRE(split);
  CHECK(split->strides == Dims{1, 12, 4});
  CHECK_FALSE(plan::try_reshaped(transposed, {24}));
  const auto with_ones = plan::try_reshaped(transposed, {1, 4, 1, 6, 1});
  REQUIRE(with_ones);
  CHECK(with_ones->strides[1] == 1);
  CHECK(with_ones->strides[3] == 4);
}

TEST_CASE("broadcasting adds axes and repeats those of one element") {
  const Dims wide = {2, 3, 4};
  const View view = plan::broadcast_to(contiguous({3, 1}), wide);
  CHECK(view.dims == wide);
  CHECK(view.strides == Dims{0, 1, 0});
}

TEST_CASE("a view is not asked for elements that it has not") {
  const View view = contiguous({2, 3});
  const Dims narrow = {3}, other = {2, 4};
  CHECK_FALSE(plan::try_reshaped(view, {2, 4}));
  CHECK_THROWS_AS(plan::reshaped(view, {7}), plan::Misfit);
  CHECK_THROWS_AS(plan::sliced(view, 1, 1, 1, 3), plan::Misfit);
  CHECK_THROWS_AS(plan::sliced(view, 1, -1, 1, 1), plan::Misfit);
  CHECK_THROWS_AS(plan::sliced(view, 2, 0, 1, 1), plan::Misfit);
  CHECK_THROWS_AS(plan::broadcast_to(view, narrow), plan::Misfit);
  CHECK_THROWS_AS(plan::broadcast_to(view, other), plan::Misfit);
  const Dims endless = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  CHECK_THROWS_AS(plan::element_count(endless), plan::Misfit);
}

TEST_CASE("loops join what lies side by side in all views") {
  const View first = contiguous({2, 3, 4}), second = contiguous({2, 3, 4});
  const Dims wide = {2, 3, 4};
  const View row = plan::broadcast_to(contiguous({4}), wide);
  const View* same[] = {&first, &second};
  CHECK(plan::joined_loops(same).sizes == Dims{24});
  const View* with_row[] = {&first, &row};
  const plan::Loops loops = plan::joined_loops(with_row);
  CHECK(loops.sizes == Dims{6, 4});
  CHECK(loops.strides[1] == Dims{0, 1});
}

}  // namespace
}  // namespace onnxkit::tests::plan_view
