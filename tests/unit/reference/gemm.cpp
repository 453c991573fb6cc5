#include "reference/kernels/gemm.h"

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "reference/kernels/gemm_kernel.h"
#include "tests/unit/sample.h"

namespace onnxkit::tests::reference_gemm {

using namespace reference;

namespace {

using std::int64_t;

enum class Order { rows, columns, gaps };
constexpr Order orders[] = {Order::rows, Order::columns, Order::gaps};

/// A matrix with its memory, which is larger than the matrix and holds `filler` elsewhere.
template <class T>
struct Matrix {
  std::vector<T> memory;
  MatrixView<T> view;

  Matrix(int64_t rows, int64_t columns, Order order, T filler) {
    const int64_t pitch = (order == Order::columns ? rows : columns) + 3;
    view = {nullptr, rows, columns, pitch, 1};
    if (order == Order::columns) view = {nullptr, rows, columns, 1, pitch};
    if (order == Order::gaps) view = {nullptr, rows, columns, 2 * pitch, 2};
    memory.assign(static_cast<std::size_t>(2 * (rows + 1) * (columns + 4) + 2 * rows), filler);
    view.data = memory.data();
  }
  Matrix(const Matrix& other) : memory(other.memory), view(other.view) { view.data = memory.data(); }

  template <class Source>
  Matrix& fill(Source&& source) {
    for (int64_t i = 0; i < view.rows; ++i) {
      for (int64_t j = 0; j < view.columns; ++j) at(i, j) = source();
    }
    return *this;
  }
  T& at(int64_t i, int64_t j) { return view.data[i * view.row_stride + j * view.column_stride]; }
  MatrixView<const T> read() const { return {view.data, view.rows, view.columns, view.row_stride, view.column_stride}; }
};

/// The same matrix for Eigen.
template <class T>
auto elements(const MatrixView<T>& view) {
  using Plain = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic>;
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  return Eigen::Map<Plain, 0, Strides>(view.data, view.rows, view.columns,
                                       Strides(view.column_stride, view.row_stride));
}

struct Shape {
  int64_t rows, columns, depth;
};
constexpr Shape shapes[] = {{1, 1, 1},    {1, 70, 33},   {70, 1, 33},    {3, 1030, 9}, {2, 3, 600},
                            {8, 24, 256}, {6, 8, 257},   {9, 25, 300},   {17, 50, 5},  {200, 30, 40},
                            {5, 800, 12}, {0, 4, 3},     {4, 0, 3},      {4, 5, 0},    {1, 5, 0},
                            {31, 49, 64}, {193, 100, 3}, {260, 300, 30}, {4, 4, 4},    {100, 7, 1000}};

std::mt19937_64 generator(7);
double uniform() { return std::uniform_real_distribution<double>(-1, 1)(generator); }

/// Two factors, what is in memory before, and Eigen's product in long double.
class Product {
 public:
  Product(const Shape& shape, Order of_a, Order of_b, Order of_c, bool accumulate)
      : accumulate_(accumulate),
        a_(Matrix<double>(shape.rows, shape.depth, of_a, filler).fill(uniform)),
        b_(Matrix<double>(shape.depth, shape.columns, of_b, filler).fill(uniform)),
        before_(Matrix<double>(shape.rows, shape.columns, of_c, 77).fill(uniform)),
        sums_(Wide::Zero(shape.rows, shape.columns)),
        magnitudes_(sums_) {
    const Wide a = elements(a_.view).template cast<long double>(), b = elements(b_.view).template cast<long double>();
    if (a.size() > 0 && b.size() > 0) {  // Eigen steps through the null pointer of an empty factor
      sums_ = a.lazyProduct(b);
      magnitudes_ = a.cwiseAbs().lazyProduct(b.cwiseAbs());
    }
    if (!accumulate) return;
    sums_ += elements(before_.view).template cast<long double>();
    magnitudes_ += elements(before_.view).template cast<long double>().cwiseAbs();
  }

  /// Elements that are off by more than `units` of the sum of magnitudes; one more for memory outside of the matrix that was written.
  template <class Multiply>
  int64_t faults(double units, const Multiply& multiply) {
    Matrix<double> c = before_;
    if (!accumulate_) c.fill([] { return filler; });
    multiply(a_.read(), b_.read(), c.view, accumulate_);
    const auto distances = (elements(c.view).template cast<long double>() - sums_).cwiseAbs();
    const int64_t count = sums_.size() - (distances.array() <= units * 0x1p-53L * magnitudes_.array()).count();
    elements(c.view) = elements(before_.view);
    return count + (c.memory != before_.memory);
  }

 private:
  using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  static constexpr double filler = std::numeric_limits<double>::quiet_NaN();

  bool accumulate_;
  Matrix<double> a_, b_, before_;
  Wide sums_, magnitudes_;
};

}  // namespace

TEST_CASE("gemm equals Eigen's product for every shape, order and instruction set") {
  ThreadPool one(1), three(3);
  for (const Shape& shape : shapes) {
    CAPTURE(shape.rows);
    CAPTURE(shape.columns);
    CAPTURE(shape.depth);
    for (int turn = sampled(0, static_cast<int>(&shape - shapes) % 5); turn < 18;
         turn += sampled(1, 5)) {  // every pair of orders
      CAPTURE(turn);
      const Order of_a = orders[turn % 3], of_b = orders[turn / 3 % 3], of_c = orders[(turn + turn / 3) % 3];
      const bool accumulate = turn >= 9;
      Product product(shape, of_a, of_b, of_c, accumulate);
      ThreadPool& threads = accumulate ? three : one;
      const double units = static_cast<double>(shape.depth) + 1;
      for (const GemmKernel* kernel : usable_gemm_kernels()) {
        CAPTURE(kernel->name);
        CHECK(product.faults(units, [&](auto a, auto b, auto c, bool add) { gemm(threads, *kernel, a, b, c, add); }) ==
              0);
        // Half a unit from rounding the result, the rest for the long double that it is compared with.
        CHECK(product.faults(1.1 + units / 1000, [&](auto a, auto b, auto c, bool add) {
          gemm_exact(threads, *kernel, a, b, c, add);
        }) == 0);
      }
    }
  }
}

TEST_CASE("gemm gives the same bits on any number of threads") {
  ThreadPool one(1), two(2), seven(7);
  for (const GemmKernel* kernel : usable_gemm_kernels()) {
    for (const Shape& shape :
         {Shape{sampled(300, 70), 500, 700}, Shape{1, 3000, 900}, Shape{3000, 1, 900}, Shape{64, 3136, 100}}) {
      for (const Order order : orders) {
        const auto a = Matrix<double>(shape.rows, shape.depth, order, 0).fill(uniform);
        const auto b = Matrix<double>(shape.depth, shape.columns, order, 0).fill(uniform);
        Matrix<double> c(shape.rows, shape.columns, Order::rows, 0), other = c;
        gemm(one, *kernel, a.read(), b.read(), c.view, false);
        for (ThreadPool* pool : {&two, &seven}) {
          gemm(*pool, *kernel, a.read(), b.read(), other.view, false);
          CHECK(c.memory == other.memory);
          if (!reads_packed(a.read(), c.view)) continue;
          other.fill(uniform);
          gemm(*pool, a.read(), pack_factor(*pool, *kernel, b.read()), other.view, false);
          CHECK(c.memory == other.memory);
        }
        gemm_exact(one, *kernel, a.read(), b.read(), c.view, false);
        gemm_exact(two, *kernel, a.read(), b.read(), other.view, false);
        CHECK(c.memory == other.memory);
      }
    }
  }
}

TEST_CASE("gemm_exact rounds once") {
  ThreadPool one(1);
  for (const GemmKernel* kernel : usable_gemm_kernels()) {
    // 1e16 + 1 - 1e16 and (1 + 2^-30)^2 - 1 - 2^-29 lose everything in plain double.
    const std::vector<double> a = {1e16, 1, -1e16, 1 + 0x1p-30, -1, -0x1p-29};
    const std::vector<double> b = {1, 1, 1, 1 + 0x1p-30, 1, 1};
    for (const int64_t first : {0, 3}) {
      double c = 0;
      gemm_exact(one, *kernel, row_major(a.data() + first, 1, 3), row_major(b.data() + first, 3, 1),
                 row_major(&c, 1, 1), false);
      CHECK(c == (first == 0 ? 1 : 0x1p-60));
    }
  }
}

TEST_CASE("gemm follows IEEE for what is not finite") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  ThreadPool one(1);
  for (const GemmKernel* kernel : usable_gemm_kernels()) {
    for (const int64_t size : {1, 2, 9, 40}) {
      Matrix<double> a(size, 3, Order::rows, 0), b(3, size, Order::rows, 0), c(size, size, Order::rows, 0);
      a.fill([] { return 1; });
      b.fill([] { return 2; });
      const auto result = [&](double x, double y, auto multiply) {
        a.at(0, 1) = x;
        b.at(1, 0) = y;
        multiply(one, *kernel, a.read(), b.read(), c.view, false);
        return c.at(0, 0);
      };
      const auto plain = [](auto&&... arguments) { gemm(arguments...); };
      const auto exact = [](auto&&... arguments) { gemm_exact(arguments...); };
      CHECK(std::isnan(result(0, inf, plain)));
      CHECK(std::isnan(result(0, inf, exact)));
      CHECK(std::isnan(result(nan, 0, plain)));
      CHECK(std::isnan(result(nan, 0, exact)));
      CHECK(result(-1, inf, plain) == -inf);
      CHECK(result(-1, inf, exact) == -inf);
      CHECK(result(1e200, 1e200, plain) == inf);
      CHECK(result(1e200, 1e200, exact) == inf);
    }
  }
}

TEST_CASE_TEMPLATE("gemm of integers wraps", T, std::int64_t, std::uint64_t) {
  ThreadPool one(1), three(3);
  const auto number = [] { return static_cast<T>(generator()); };
  for (const Shape& shape : shapes) {
    for (const Order of_a : orders) {
      for (const Order of_b : orders) {
        for (const bool accumulate : {false, true}) {
          const auto a = Matrix<T>(shape.rows, shape.depth, of_a, 1).fill(number);
          const auto b = Matrix<T>(shape.depth, shape.columns, of_b, 1).fill(number);
          auto c = Matrix<T>(shape.rows, shape.columns, of_a, 1).fill(number);
          auto wanted = c;
          using Wrapping = Eigen::Matrix<std::uint64_t, Eigen::Dynamic, Eigen::Dynamic>;
          const Wrapping wrapping_a = elements(a.view).template cast<std::uint64_t>(),
                         wrapping_b = elements(b.view).template cast<std::uint64_t>();
          Wrapping sums = Wrapping::Zero(shape.rows, shape.columns);
          if (wrapping_a.size() > 0 && wrapping_b.size() > 0) sums = wrapping_a.lazyProduct(wrapping_b);
          if (accumulate) sums += elements(c.view).template cast<std::uint64_t>();
          elements(wanted.view) = sums.template cast<T>();
          gemm(accumulate ? three : one, a.read(), b.read(), c.view, accumulate);
          CHECK(c.memory == wanted.memory);
        }
      }
    }
  }
}

}  // namespace onnxkit::tests::reference_gemm
