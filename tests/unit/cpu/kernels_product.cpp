#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

#include "libonnxkit/base/dtype/dtype.h"
#include "tests/unit/cpu/kernels_support.h"
#include "tests/unit/sample.h"

namespace onnxkit::tests::cpu_product {

using namespace cpu_kernels;

namespace {

struct Shape {
  int64_t m, n, k;
};
constexpr Shape shapes[] = {{1, 1, 1},    {1, 70, 33},   {70, 1, 33},     {3, 130, 9},   {2, 3, 600},   {8, 24, 384},
                            {6, 64, 385}, {9, 25, 300},  {17, 50, 5},     {200, 30, 7},  {5, 200, 12},  {0, 4, 3},
                            {4, 0, 3},    {4, 5, 0},     {31, 49, 64},    {193, 100, 3}, {13, 7, 1000}, {400, 16, 2},
                            {48, 48, 48}, {7, 33, 769},  {260, 129, 600}, {203, 3, 40},  {5, 1, 7000},  {17, 4, 33},
                            {3, 8, 500},  {19, 2, 3100}, {9, 6, 70}};

/// An epilogue of everything, and the same in double.
struct Everything {
  Floats bias, residual;
  int64_t residual_stride;
  mutable std::atomic<int64_t> finished = 0;

  Everything(int64_t rows, int64_t columns)
      : bias(random_floats(columns, 5)),
        residual(random_floats(rows * (columns + 2), 6)),
        residual_stride(columns + 2) {}

  static void finish(const void* state, float* block, int64_t rows, int64_t columns, int64_t row_stride,
                     int64_t first_row, int64_t first_column) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        float& element = block[i * row_stride + j];
        element = 2 * element + static_cast<float>(first_row + i) + 1000 * static_cast<float>(first_column + j);
      }
    }
    const bool fits = rows <= cpu::finish_rows && columns <= cpu::finish_columns;
    static_cast<const Everything*>(state)->finished += fits ? rows * columns : 1'000'000;
  }

  cpu::Epilogue epilogue() const {
    return {.bias = bias.data(),
            .residual = residual.data(),
            .residual_stride = residual_stride,
            .clamps = true,
            .lower = -1.5F,
            .upper = 2.0F,
            .finish = finish,
            .state = this};
  }
  double operator()(double sum, int64_t i, int64_t j) const {
    return 2 * std::clamp(sum, -1.5, 2.0) + static_cast<double>(i) + 1000 * static_cast<double>(j);
  }
};

/// c = a * b with room between rows, compared with plain loops.
class ProductTest {
 public:
  ProductTest(const Shape& shape, bool turned)
      : shape_(shape),
        a_(random_floats(shape.m * (shape.k + 3), 1)),
        b_(random_floats(shape.k * shape.n, 2)),
        k_stride_(turned ? 1 : shape.n),
        n_stride_(turned ? shape.k : 1) {}
  /// The columns of b one after the other.
  ProductTest(const Shape& shape, Floats b)
      : shape_(shape),
        a_(random_floats(shape.m * (shape.k + 3), 1)),
        b_(std::move(b)),
        k_stride_(1),
        n_stride_(shape.k) {}

  Floats run(ThreadPool& threads, const cpu::Isa& isa, const cpu::Epilogue& epilogue) const {
    Floats packed = filled(cpu::packed_b_floats(shape_.k, shape_.n, isa));
    cpu::pack_b(packed.data(), b_.data(), shape_.k, shape_.n, k_stride_, n_stride_, isa);
    return run(threads, isa, epilogue, packed, nullptr);
  }

  /// `packed`: b, as numbers if there are any.
  Floats run(ThreadPool& threads, const cpu::Isa& isa, const cpu::Epilogue& epilogue, const Floats& packed,
             const cpu::NumberBlocks* numbers) const {
    Floats c = filled(shape_.m * (shape_.n + 2));
    cpu::Product product{a_.data(), shape_.k + 3, packed.data(), c.data(), shape_.n + 2, shape_.m, shape_.k, shape_.n};
    product.numbers = numbers;
    cpu::product(threads, product, epilogue, isa);
    return c;
  }

  /// Elements that are off, with sanitizers of every 7th, or were written though they are none.
  int64_t faults(const Floats& c, const Everything* everything = nullptr) const {
    int64_t faults = 0;
    for (int64_t i = 0; i < shape_.m; ++i) {
      for (int64_t j = 0; j < shape_.n + 2; ++j) {
        const float found = c[static_cast<std::size_t>(i * (shape_.n + 2) + j)];
        if (j >= shape_.n) {
          faults += found != not_written;
          continue;
        }
        if ((i * shape_.n + j) % sampled(1, 7) != 0) continue;
        Sum sum;
        for (int64_t k = 0; k < shape_.k; ++k) {
          sum.add(double{a_[static_cast<std::size_t>(i * (shape_.k + 3) + k)]} *
                  b_[static_cast<std::size_t>(k * k_stride_ + j * n_stride_)]);
        }
        if (everything != nullptr) {
          sum.add(everything->bias[static_cast<std::size_t>(j)]);
          sum.add(everything->residual[static_cast<std::size_t>(i * everything->residual_stride + j)]);
        }
        const double wanted = everything == nullptr ? sum.value : (*everything)(sum.value, i, j);
        const double bound = everything == nullptr ? sum.bound() : 2 * sum.bound() + 0x1p-22 * std::abs(wanted);
        faults += !(std::abs(found - wanted) <= bound);
      }
    }
    return faults;
  }

 private:
  Shape shape_;
  Floats a_, b_;
  int64_t k_stride_, n_stride_;
};

float largest(const Floats& numbers) {
  float most = 0;
  for (const float number : numbers) most = std::max(most, std::abs(number));
  return most;
}

/// By how much products of random floats and another form of b may differ: few columns are summed in another order where b is packed as float32.
float slack(const Shape& shape, const Floats& b, const cpu::Isa& isa) {
  if (shape.n > cpu::isa_lanes(isa) / 2) return 0;
  return static_cast<float>(shape.k) * 0x1p-21F * largest(b);
}

int64_t differences(const Floats& found, const Floats& wanted, float slack) {
  int64_t count = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) count += !(std::abs(found[i] - wanted[i]) <= slack);
  return count;
}

}  // namespace

TEST_CASE("products of all shapes are right in every order of b and on any number of threads") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Shape& shape : shapes) {
      CAPTURE(shape.m);
      CAPTURE(shape.n);
      CAPTURE(shape.k);
      for (const bool turned : {false, true}) {
        const ProductTest test(shape, turned);
        const Floats c = test.run(one, isa, {});
        CHECK(test.faults(c) == 0);
        CHECK(test.run(three, isa, {}) == c);
      }
    }
  });
}

TEST_CASE("a matrix of bfloat16 gives where it lies what it gives packed as float32") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Shape& shape : shapes) {
      CAPTURE(shape.m);
      CAPTURE(shape.n);
      CAPTURE(shape.k);
      const Floats a = random_floats(shape.m * shape.k, 1);
      Floats b = random_floats(2 * shape.k * shape.n, 2);
      std::vector<cpu::Bfloat16> stored;
      for (float& number : b) {
        stored.push_back({static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16)});
        number = std::bit_cast<float>(std::uint32_t{stored.back().bits} << 16);
      }
      const std::array<int64_t, 2> orders[] = {{shape.n, 1}, {1, shape.k}, {2 * shape.n, 2}};
      for (const auto& [k_stride, n_stride] : orders) {
        Floats packed = filled(cpu::packed_b_floats(shape.k, shape.n, isa)), wanted = filled(shape.m * shape.n);
        cpu::pack_b(packed.data(), b.data(), shape.k, shape.n, k_stride, n_stride, isa);
        cpu::Product product{a.data(), shape.k, packed.data(), wanted.data(), shape.n, shape.m, shape.k, shape.n};
        cpu::product(one, product, {}, isa);
        product.packed_b = nullptr;
        product.stored_b = {.from = stored.data(), .k_stride = k_stride, .n_stride = n_stride};
        for (ThreadPool* threads : {&one, &three}) {
          Floats found = filled(shape.m * shape.n);
          product.c = found.data();
          cpu::product(*threads, product, {}, isa);
          CHECK(differences(found, wanted, slack(shape, b, isa)) == 0);
        }
      }
    }
  });
}

TEST_CASE(
    "small products beside a large bias and residual are not lost, though the result lies where the residual does") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Shape& shape : shapes) {
      CAPTURE(shape.m);
      CAPTURE(shape.n);
      CAPTURE(shape.k);
      const Floats a = random_floats(shape.m * shape.k, 1), b = random_floats(shape.k * shape.n, 2);
      const Floats bias(static_cast<std::size_t>(shape.n), 0x1p16F);
      Floats packed = filled(cpu::packed_b_floats(shape.k, shape.n, isa));
      cpu::pack_b(packed.data(), b.data(), shape.k, shape.n, shape.n, 1, isa);
      for (ThreadPool* threads : {&one, &three}) {
        Floats c = filled(shape.m * shape.n, -0x1p18F);
        cpu::product(*threads, {a.data(), shape.k, packed.data(), c.data(), shape.n, shape.m, shape.k, shape.n},
                     {.bias = bias.data(), .residual = c.data(), .residual_stride = shape.n}, isa);
        int64_t faults = 0;
        for (int64_t i = 0; i < shape.m; ++i) {
          for (int64_t j = 0; j < shape.n; ++j) {
            Sum sum;
            for (int64_t k = 0; k < shape.k; ++k)
              sum.add(double{a[static_cast<std::size_t>(i * shape.k + k)]} *
                      b[static_cast<std::size_t>(k * shape.n + j)]);
            // Each of the two additions rounds once.
            const double bound = sum.bound() + 0x1p-8 + 0x1p-6, wanted = sum.value + 0x1p16 - 0x1p18;
            faults += !(std::abs(c[static_cast<std::size_t>(i * shape.n + j)] - wanted) <= bound);
          }
        }
        CHECK(faults == 0);
      }
    }
  });
}

namespace {

/// Numbers of a few bits in blocks, with zero points between them, and what they stand for, column by column.
struct NumberMatrix {
  cpu::NumberBlocks numbers;
  Floats scales, b;

  NumberMatrix(int64_t n, int64_t k, int64_t bits, int64_t size, cpu::Rounding rounding)
      : numbers{.k = k, .n = n, .bits = bits, .size = size, .rounding = rounding},
        scales(random_floats(n * numbers.blocks(), 2)),
        b(static_cast<std::size_t>(k * n)) {
    for (int64_t at = 0; at < k * n; ++at) {
      const int64_t column = at / k, row = at % k, block = row / size;
      b[static_cast<std::size_t>(at)] = (static_cast<float>(number_at(column, row)) - zero_at(column, block)) *
                                        scales[static_cast<std::size_t>(column * numbers.blocks() + block)];
    }
    if (rounding == cpu::Rounding::none) return;
    const ElementType type = rounding == cpu::Rounding::float16 ? ElementType::float16 : ElementType::bfloat16;
    for (float& weight : b) weight = static_cast<float>(round_to(type, double{weight}));
  }

  int64_t number_at(int64_t column, int64_t row) const { return (column * 7 + row * 13) % (1 << numbers.bits); }
  float zero_at(int64_t column, int64_t block) const {
    return static_cast<float>((column + block) % (1 << numbers.bits)) + 0.5F;
  }

  Floats packed(ThreadPool& threads, const cpu::Isa& isa) const {
    const auto read = [&](int64_t column, std::uint8_t* to, float* to_scales, float* to_zeros) {
      for (int64_t row = 0; row < numbers.k; ++row) to[row] = static_cast<std::uint8_t>(number_at(column, row));
      std::copy_n(scales.data() + column * numbers.blocks(), numbers.blocks(), to_scales);
      for (int64_t block = 0; block < numbers.blocks(); ++block) to_zeros[block] = zero_at(column, block);
    };
    Floats blocks = filled(cpu::packed_number_floats(numbers, isa));
    cpu::pack_numbers(threads, blocks.data(), numbers, read, isa);
    return blocks;
  }
};

/// Shapes, numbers of bits and sizes of blocks.
template <class Test>
void on_each_matrix(const Test& test) {
  for (const Shape& shape : shapes) {
    for (const int64_t bits : {4, 8}) {
      for (const int64_t size : {8, 40}) {
        for (const cpu::Rounding rounding : {cpu::Rounding::none, cpu::Rounding::float16, cpu::Rounding::bfloat16}) {
          CAPTURE(shape.m);
          CAPTURE(shape.n);
          CAPTURE(shape.k);
          CAPTURE(bits);
          CAPTURE(size);
          CAPTURE(static_cast<int>(rounding));
          test(shape, NumberMatrix(shape.n, shape.k, bits, size, rounding));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("a matrix of numbers in blocks gives what it gives packed as float32") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    on_each_matrix([&](const Shape& shape, const NumberMatrix& matrix) {
      constexpr int64_t most_few_rows = 8;  // which are multiplied with the numbers, and scaled afterwards
      if (shape.m <= most_few_rows) return;
      const ProductTest test(shape, matrix.b);
      const Floats wanted = test.run(one, isa, {});
      for (ThreadPool* threads : {&one, &three})
        CHECK(differences(test.run(*threads, isa, {}, matrix.packed(*threads, isa), &matrix.numbers), wanted,
                          slack(shape, matrix.b, isa)) == 0);
    });
  });
}

TEST_CASE("a few rows times a matrix of numbers in blocks are right, and their epilogue") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    on_each_matrix([&](const Shape& shape, const NumberMatrix& matrix) {
      for (const int64_t rows : {1, 2, 3, 4, 5, 7, 8}) {
        const Shape few{rows, shape.n, shape.k};
        if (shape.m > 8 && rows > 1) continue;
        CAPTURE(rows);
        const ProductTest test(few, matrix.b);
        for (ThreadPool* threads : {&one, &three}) {
          const Floats packed = matrix.packed(*threads, isa);
          CHECK(test.faults(test.run(*threads, isa, {}, packed, &matrix.numbers)) == 0);
          const Everything everything(few.m, few.n);
          CHECK(test.faults(test.run(*threads, isa, everything.epilogue(), packed, &matrix.numbers), &everything) == 0);
          CHECK(everything.finished == few.m * few.n);
        }
      }
    });
  });
}

namespace {

/// A matrix of one number in blocks of one scale, without zero points.
Floats packed_alike(ThreadPool& threads, const cpu::NumberBlocks& numbers, std::uint8_t number, float scale,
                    const cpu::Isa& isa) {
  const auto read = [&](int64_t, std::uint8_t* to, float* scales, float* zeros) {
    std::fill_n(to, numbers.k, number);
    std::fill_n(scales, numbers.blocks(), scale);
    std::fill_n(zeros, numbers.blocks(), 0.0F);
  };
  Floats packed = filled(cpu::packed_number_floats(numbers, isa));
  cpu::pack_numbers(threads, packed.data(), numbers, read, isa);
  return packed;
}

}  // namespace

TEST_CASE("products with numbers in blocks may be too large before they are scaled") {
  ThreadPool one(1);
  on_each_isa([&](const cpu::Isa& isa) {
    const cpu::NumberBlocks numbers{.k = 8, .n = 3, .bits = 4, .size = 8};
    const Floats packed = packed_alike(one, numbers, 15, 0x1p-10F, isa), a(8, 0x1p126F);
    Floats c = filled(3);
    cpu::Product product{a.data(), 8, packed.data(), c.data(), 3, 1, 8, 3};
    product.numbers = &numbers;
    cpu::product(one, product, {}, isa);
    CHECK(c == Floats(3, 120 * 0x1p116F));
  });
}

TEST_CASE("weights in blocks that float32 does not hold are infinite for any number of rows") {
  ThreadPool one(1);
  on_each_isa([&](const cpu::Isa& isa) {
    const cpu::NumberBlocks numbers{.k = 8, .n = 1, .bits = 8, .size = 8};
    const Floats packed = packed_alike(one, numbers, 200, 0x1p123F, isa);
    for (const int64_t rows : {1, 3, 9}) {
      const Floats a(static_cast<std::size_t>(rows * 8), 0x1p-30F);
      Floats c = filled(rows);
      cpu::Product product{a.data(), 8, packed.data(), c.data(), 1, rows, 8, 1};
      product.numbers = &numbers;
      cpu::product(one, product, {}, isa);
      CHECK(c == filled(rows, std::numeric_limits<float>::infinity()));
    }
  });
}

TEST_CASE("a product's epilogue adds bias and residual, clamps and finishes each element once") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Shape& shape : shapes) {
      CAPTURE(shape.m);
      CAPTURE(shape.n);
      CAPTURE(shape.k);
      const ProductTest test(shape, false);
      for (ThreadPool* threads : {&one, &three}) {
        const Everything everything(shape.m, shape.n);
        CHECK(test.faults(test.run(*threads, isa, everything.epilogue()), &everything) == 0);
        CHECK(everything.finished == shape.m * shape.n);
      }
    }
  });
}

TEST_CASE("the residual of a product may be where the result goes, and NaN passes through the clamp") {
  ThreadPool one(1);
  on_each_isa([&](const cpu::Isa& isa) {
    constexpr int64_t m = 20, k = 900, n = 70;
    Floats a = random_floats(m * k, 1);
    const Floats b = random_floats(k * n, 2);
    a[3] = std::numeric_limits<float>::quiet_NaN();
    Floats packed = filled(cpu::packed_b_floats(k, n, isa)), apart = filled(m * n), c = random_floats(m * n, 3);
    const Floats before = c;
    cpu::pack_b(packed.data(), b.data(), k, n, n, 1, isa);
    cpu::Epilogue epilogue;
    epilogue.residual = before.data();
    epilogue.residual_stride = n;
    epilogue.clamps = true;
    epilogue.upper = 6;
    cpu::product(one, {a.data(), k, packed.data(), apart.data(), n, m, k, n}, epilogue, isa);
    epilogue.residual = c.data();
    cpu::product(one, {a.data(), k, packed.data(), c.data(), n, m, k, n}, epilogue, isa);
    CHECK(std::isnan(c[0]));
    CHECK(std::isnan(c[n - 1]));
    CHECK(std::equal(c.begin() + n, c.end(), apart.begin() + n));
    CHECK(*std::min_element(c.begin() + n, c.end()) == 0);
    CHECK(*std::max_element(c.begin() + n, c.end()) == 6);
  });
}

}  // namespace onnxkit::tests::cpu_product
