// Reductions of doubles and integers, and transposed copies.
#include <bit>

#include "tests/unit/cpu/kernels_support.h"

namespace onnxkit::tests::cpu_numbers {

using namespace cpu_kernels;
using cpu::Reduction;

namespace {

template <class T>
T plainly(Reduction reduction, const std::vector<T>& numbers) {
  std::conditional_t<std::is_integral_v<T>, std::uint64_t, long double> sum = 0, product = 1;
  T most = numbers[0], least = numbers[0];
  for (const T x : numbers) {
    sum += static_cast<decltype(sum)>(x);
    product *= static_cast<decltype(sum)>(x);
    if (!(most != most) && (x != x || x > most)) most = x;
    if (!(least != least) && (x != x || x < least)) least = x;
  }
  switch (reduction) {
    case Reduction::sum:
      return static_cast<T>(sum);
    case Reduction::mean:
      return static_cast<T>(sum / numbers.size());
    case Reduction::product:
      return static_cast<T>(product);
    default:
      return reduction == Reduction::max ? most : least;
  }
}

template <class T>
bool agrees(Reduction reduction, T found, T wanted) {
  if (found != found || wanted != wanted) return found != found && wanted != wanted;
  if constexpr (std::is_integral_v<T>) return found == wanted;
  if (reduction == Reduction::max || reduction == Reduction::min)
    return std::bit_cast<std::uint64_t>(found) == std::bit_cast<std::uint64_t>(wanted);
  if (std::isinf(wanted)) return found == wanted;
  return std::abs(found - wanted) <= std::abs(wanted) * (reduction == Reduction::product ? 1e-13 : 1e-15) + 1e-17;
}

template <class T, class Make>
void check_reductions(const std::vector<Reduction>& reductions, const Make& make) {
  ThreadPool three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const int64_t rows : {1, 3, 70}) {
      for (const int64_t columns : {1, 7, 16, 33, 130}) {
        std::vector<T> numbers;
        for (int64_t i = 0; i < rows * (columns + 1); ++i) numbers.push_back(make(i));
        for (const Reduction reduction : reductions) {
          std::vector<T> of_rows(static_cast<std::size_t>(rows)), of_columns(static_cast<std::size_t>(columns));
          cpu::reduce_rows(three, reduction, numbers.data(), columns + 1, rows, columns, of_rows.data(), isa);
          cpu::reduce_columns(three, reduction, numbers.data(), columns + 1, rows, columns, of_columns.data(), isa);
          const auto line = [&](int64_t start, int64_t step, int64_t count) {
            std::vector<T> values;
            for (int64_t i = 0; i < count; ++i) values.push_back(numbers[static_cast<std::size_t>(start + i * step)]);
            return values;
          };
          int faults = 0;
          for (int64_t i = 0; i < rows; ++i)
            faults += !agrees(reduction, of_rows[static_cast<std::size_t>(i)],
                              plainly(reduction, line(i * (columns + 1), 1, columns)));
          for (int64_t j = 0; j < columns; ++j)
            faults += !agrees(reduction, of_columns[static_cast<std::size_t>(j)],
                              plainly(reduction, line(j, columns + 1, rows)));
          CHECK(faults == 0);
        }
      }
    }
  });
}

}  // namespace

TEST_CASE("reductions of doubles keep what additions round off, and NaN") {
  std::mt19937_64 generator(4);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  check_reductions<double>({Reduction::sum, Reduction::mean, Reduction::max, Reduction::min, Reduction::product},
                           [&](int64_t) { return uniform(generator); });
  check_reductions<double>({Reduction::max, Reduction::min}, [](int64_t i) {
    return i % 61 == 60 ? NAN : i % 2 == 0 ? -0.0 : -1.0;
  });
  check_reductions<double>({Reduction::sum}, [](int64_t i) { return i % 5 == 0 ? INFINITY : 1.0; });
  // One running product or sum stays within what a double holds, those of every second number do not.
  check_reductions<double>({Reduction::product}, [](int64_t i) { return i % 2 == 0 ? 0x1p600 : 0x1p-600; });
  check_reductions<double>({Reduction::sum}, [](int64_t i) { return i % 2 == 0 ? 1e308 : -1e308; });
}

TEST_CASE("reductions of integers wrap") {
  std::mt19937_64 generator(5);
  check_reductions<std::int64_t>({Reduction::sum, Reduction::max, Reduction::min, Reduction::product},
                                 [&](int64_t) { return static_cast<std::int64_t>(generator()); });
}

TEST_CASE("transposed copies of numbers of 32 bits") {
  on_each_isa([](const cpu::Isa& isa) {
    for (const int64_t rows : {1, 4, 16, 37}) {
      for (const int64_t columns : {1, 3, 16, 50}) {
        const int64_t to_row = columns + 3, from_column = rows + 1;
        const Floats from = random_floats(columns * from_column, 9);
        Floats to = filled(rows * to_row);
        cpu::transpose(to.data(), from.data(), rows, columns, to_row, from_column, isa);
        int faults = 0;
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < to_row; ++j)
            faults += to[static_cast<std::size_t>(i * to_row + j)] !=
                      (j < columns ? from[static_cast<std::size_t>(i + j * from_column)] : not_written);
        }
        CHECK(faults == 0);
      }
    }
  });
}

}  // namespace onnxkit::tests::cpu_numbers
