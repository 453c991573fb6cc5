#include "reference/kernels/shared_factors.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace onnxkit::tests::reference_shared_factors {

using namespace reference;

namespace {

std::vector<double> counted(std::size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  return numbers;
}

/// a * b by what is kept, or by gemm where nothing is.
std::vector<double> product(SharedFactors& factors, ThreadPool& threads, const std::vector<double>& a,
                            MatrixView<const double> b) {
  const auto rows = static_cast<std::int64_t>(a.size()) / b.rows;
  std::vector<double> c(static_cast<std::size_t>(rows * b.columns));
  const auto left = row_major<const double>(a.data(), rows, b.rows);
  const auto to = row_major(c.data(), rows, b.columns);
  if (const PackedFactor* packed = factors.packed(threads, b))
    gemm(threads, left, *packed, to, false);
  else
    gemm(threads, left, b, to);
  return c;
}

}  // namespace

TEST_CASE("shared factors: what is made of a matrix is made once, until the next node") {
  ThreadPool threads(2);
  const std::vector<double> weights = counted(std::size_t{256} * 128), others = counted(std::size_t{256} * 128);
  const auto b = row_major<const double>(weights.data(), 256, 128);
  SharedFactors factors;
  int made = 0;
  const auto make = [&] { return std::vector<double>{static_cast<double>(++made)}; };

  CHECK(factors.packed(threads, b) == nullptr);
  CHECK(factors.token(b) == nullptr);
  CHECK(factors.sums(b, make)->front() == 1);
  CHECK(factors.sums(b, make)->front() == 2);

  factors.begin({weights});
  const auto* const packed = factors.packed(threads, b);
  const auto token = factors.token(b);
  REQUIRE(packed);
  CHECK(factors.packed(threads, b) == packed);
  CHECK(factors.sums(b, make)->front() == 3);
  CHECK(factors.sums(b, make)->front() == 3);
  CHECK((token && factors.token(b) == token));
  // Another order, a part, and another matrix.
  CHECK(factors.packed(threads, b.transposed()) != packed);
  CHECK(factors.sums(b.transposed(), make)->front() == 4);
  CHECK(factors.packed(threads, row_major<const double>(weights.data() + 1, 255, 128)) != packed);
  CHECK(factors.packed(threads, row_major<const double>(weights.data() + 1, 256, 128)) == nullptr);
  CHECK(factors.packed(threads, row_major<const double>(others.data(), 256, 128)) == nullptr);
  // Small, and narrow.
  CHECK(factors.packed(threads, row_major<const double>(weights.data(), 16, 16)) == nullptr);
  CHECK(factors.packed(threads, row_major<const double>(weights.data(), 2048, 16)) == nullptr);

  factors.begin({others});
  CHECK(factors.packed(threads, b) == nullptr);
  CHECK(factors.token(b) == nullptr);
  CHECK(factors.token(row_major<const double>(others.data(), 256, 128)) != token);
}

TEST_CASE("shared factors: memory that is used again holds the next matrix") {
  ThreadPool threads(2);
  const std::vector<double> large = counted(std::size_t{300} * 200), small = counted(std::size_t{130} * 190);
  const std::vector<double> a = counted(std::size_t{8} * 300), c = counted(std::size_t{8} * 130);
  SharedFactors factors;
  for (int turn = 0; turn < 3; ++turn) {
    for (const bool is_large : {true, false}) {
      const std::vector<double>& weights = is_large ? large : small;
      const auto b = row_major<const double>(weights.data(), is_large ? 300 : 130, is_large ? 200 : 190);
      factors.begin({});
      const std::vector<double> plain = product(factors, threads, is_large ? a : c, b);
      factors.begin({weights});
      REQUIRE(factors.packed(threads, b));
      CHECK(product(factors, threads, is_large ? a : c, b) == plain);
    }
  }
}

}  // namespace onnxkit::tests::reference_shared_factors
