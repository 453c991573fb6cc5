#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/core.h>

#include "tests/unit/cuda/host_program.h"

// float8e4m3fn in generated kernels against base/dtype, and rows that are rounded to it.
namespace onnxkit::tests::cuda_float8 {
namespace {

constexpr ElementType float8 = ElementType::float8e4m3fn;
constexpr int codes = 256;

double number_of(int code) {
  const auto byte = static_cast<std::byte>(code);
  double number = 0;
  decode(float8, std::span(&byte, 1), std::span(&number, 1));
  return number;
}

bool is_same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

void set(HostStep& one, const plan::View& view, std::span<const double> numbers) {
  encode(view.type, numbers, one.memory[view.buffer]);
}

HostStep conversion(ElementType from, ElementType to, std::int64_t count) {
  auto parameters = std::make_shared<plan::MapParameters>();
  parameters->expression.input(0, plan::lane_of(from));  // a double is rounded once, not by way of a float
  return HostStep(plan::Step{.kind = plan::map_step,
                             .inputs = {HostStep::view(0, from, {count})},
                             .outputs = {HostStep::view(1, to, {count})},
                             .parameters = parameters});
}

void run(HostStep& one) {
  REQUIRE(one.error == "");
  HostProgram program;
  program.add(one);
  REQUIRE(program.compile() == "");
  REQUIRE(program.run(one) == "");
}

TEST_CASE("generated kernels read each number of float8 as base/dtype does") {
  HostStep one = conversion(float8, ElementType::float32, codes);
  for (int code = 0; code < codes; ++code) one.memory[0][static_cast<std::size_t>(code)] = static_cast<std::byte>(code);
  run(one);
  for (int code = 0; code < codes; ++code) {
    CAPTURE(code);
    CHECK(is_same(one.real(one.step.outputs[0], code), number_of(code)));
  }
}

/// Each number, the middle between neighbours and what lies next to it; what is beyond, and what is no number.
template <class T>
std::vector<double> edges() {
  std::vector<double> numbers;
  const auto add = [&](T x) {
    for (const T y : {std::nextafter(x, -std::numeric_limits<T>::infinity()), x,
                      std::nextafter(x, std::numeric_limits<T>::infinity())}) {
      numbers.push_back(static_cast<double>(y));
      numbers.push_back(-static_cast<double>(y));
    }
  };
  constexpr int greatest = 0x7e;
  for (int code = 0; code < greatest; ++code) {
    add(static_cast<T>(number_of(code)));
    add(static_cast<T>((number_of(code) + number_of(code + 1)) / 2));
  }
  for (const double x : {448.0, 464.0, 480.0, 1e30, 1e-30}) add(static_cast<T>(x));
  numbers.push_back(static_cast<double>(std::numeric_limits<T>::denorm_min()));
  numbers.push_back(std::numeric_limits<double>::infinity());
  numbers.push_back(-std::numeric_limits<double>::infinity());
  numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  return numbers;
}

TEST_CASE("generated kernels round to float8 as base/dtype does: ties to even, saturated") {
  const auto check = [](ElementType from, const std::vector<double>& numbers) {
    HostStep one = conversion(from, float8, static_cast<std::int64_t>(numbers.size()));
    set(one, one.step.inputs[0], numbers);
    run(one);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      CAPTURE(numbers[i]);
      std::byte code{};
      encode(float8, std::span(&numbers[i], 1), std::span(&code, 1));
      CHECK(
          is_same(one.real(one.step.outputs[0], static_cast<std::int64_t>(i)), number_of(std::to_integer<int>(code))));
    }
  };
  check(ElementType::float32, edges<float>());
  check(ElementType::float64, edges<double>());
}

/// Rows of large and small numbers, one of zeros, one with an infinity and one with NaN.
std::vector<double> rows_of(std::int64_t rows, std::int64_t columns) {
  std::vector<double> numbers;
  std::uint32_t state = 1;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      state = state * 1664525 + 1013904223;
      const double number = std::ldexp(static_cast<double>(state >> 8) - 0x1p23, static_cast<int>(row % 5) - 23);
      numbers.push_back(row == 1 ? 0 : number);
    }
  }
  numbers[static_cast<std::size_t>(2 * columns)] = std::numeric_limits<double>::infinity();
  numbers[static_cast<std::size_t>(4 * columns - 1)] = std::numeric_limits<double>::quiet_NaN();
  return numbers;
}

void check_rows(const HostStep& one, std::int64_t rows, std::int64_t columns, std::int64_t row_stride) {
  const plan::View &x = one.step.inputs[0], &q = one.step.outputs[0], &powers = one.step.outputs[1];
  std::int64_t faults = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    CAPTURE(row);
    const double power = one.real(powers, row);
    if (row == 2 || row == 3) {
      CHECK(std::isnan(power));
      continue;
    }
    int exponent = 0;
    CHECK(std::frexp(power, &exponent) == 0.5);
    double most = 0;
    for (std::int64_t i = 0; i < columns; ++i) {
      const double number = one.real(x, row * row_stride + i) / power;
      most = std::max(most, std::abs(number));
      faults += !is_same(one.real(q, row * columns + i), round_to(float8, number));
    }
    CHECK(most <= 448);
    CHECK((row == 1 || most > 224));
  }
  CHECK(faults == 0);
}

TEST_CASE("rows are rounded to float8 over powers of two") {
  for (const std::int64_t columns : {1, 16, 33, 300, 9001}) {
    for (const ElementType type : {ElementType::float16, ElementType::float32}) {
      CAPTURE(columns);
      constexpr std::int64_t rows = 7;
      HostStep dense(plan::Step{
          .kind = plan::quantize_rows_step,
          .inputs = {HostStep::view(0, type, {rows, columns})},
          .outputs = {HostStep::view(1, float8, {rows, columns}), HostStep::view(2, ElementType::float32, {rows})}});
      set(dense, dense.step.inputs[0], rows_of(rows, columns));
      run(dense);
      check_rows(dense, rows, columns, columns);
    }
  }
}

TEST_CASE("rows of a part of a tensor are rounded to float8") {
  constexpr std::int64_t rows = 6, columns = 48, whole = 64;
  plan::View x = plan::sliced(HostStep::view(0, ElementType::float16, {2, 3, whole}), 2, 16, 1, columns);
  HostStep part(plan::Step{
      .kind = plan::quantize_rows_step,
      .inputs = {x},
      .outputs = {HostStep::view(1, float8, {2, 3, columns}), HostStep::view(2, ElementType::float32, {2, 3})}});
  std::vector<double> numbers = rows_of(rows, whole);
  numbers[2 * whole + 20] = std::numeric_limits<double>::infinity();
  set(part, HostStep::view(0, ElementType::float16, {rows, whole}), numbers);
  run(part);
  // `real` counts from the buffer's first element.
  HostStep seen = part;
  seen.memory[0].erase(seen.memory[0].begin(), seen.memory[0].begin() + 32);
  check_rows(seen, rows, columns, whole);
}

TEST_CASE("rows that are not evenly apart are refused") {
  const plan::View whole = HostStep::view(0, ElementType::float16, {4, 3, 16});
  constexpr std::int64_t order[] = {1, 0, 2};
  for (const plan::View& x :
       {plan::permuted(whole, order),
        plan::broadcast_to(HostStep::view(0, ElementType::float16, {3, 16}), plan::Dims{4, 3, 16})}) {
    const HostStep one(plan::Step{.kind = plan::quantize_rows_step,
                                  .inputs = {x},
                                  .outputs = {HostStep::view(1, float8, x.dims),
                                              HostStep::view(2, ElementType::float32, {x.dims[0], x.dims[1]})}});
    CHECK(one.error == "rows that are not evenly apart");
  }
}

TEST_CASE("generated products of float8, times powers of rows and columns") {
  for (const std::int64_t size : {16, 48, 144}) {
    CAPTURE(size);
    auto parameters = std::make_shared<plan::ProductParameters>();
    plan::Expression& e = parameters->epilogue;
    const auto sum = e.apply(plan::Operation::multiply, e.input(0, plan::Lane::f32), e.input(1, plan::Lane::f32));
    e.apply(plan::Operation::multiply, sum, e.input(2, plan::Lane::f32));
    constexpr std::int64_t swapped[] = {1, 0};
    const plan::Dims dims = {size, size};
    plan::View rows = HostStep::view(3, ElementType::float32, {size, 1});
    HostStep one(
        plan::Step{.kind = plan::product_step,
                   .inputs = {HostStep::view(0, float8, dims), plan::permuted(HostStep::view(1, float8, dims), swapped),
                              plan::broadcast_to(rows, dims),
                              plan::broadcast_to(HostStep::view(4, ElementType::float32, {size}), dims)},
                   .outputs = {HostStep::view(2, ElementType::float32, dims)},
                   .parameters = parameters});
    std::vector<double> powers;
    for (std::int64_t i = 0; i < size; ++i) powers.push_back(std::ldexp(1, static_cast<int>(i % 7) - 3));
    for (std::size_t buffer : {0U, 1U})
      for (std::size_t i = 0; i < one.memory[buffer].size(); ++i)
        one.memory[buffer][i] = static_cast<std::byte>((i * 37 + buffer * 11) % 256 & 0xf7);
    set(one, rows, powers);
    set(one, one.step.inputs[3], powers);
    run(one);
    const auto at = [&](std::size_t input, std::int64_t place) {
      return number_of(std::to_integer<int>(one.memory[input][static_cast<std::size_t>(place)]));
    };
    for (std::int64_t m = 0; m < size; ++m) {
      for (std::int64_t n = 0; n < size; ++n) {
        double wanted = 0, magnitude = 0;
        for (std::int64_t k = 0; k < size; ++k) {
          wanted += at(0, m * size + k) * at(1, n * size + k);
          magnitude += std::abs(at(0, m * size + k) * at(1, n * size + k));
        }
        const double factor = powers[static_cast<std::size_t>(m)] * powers[static_cast<std::size_t>(n)];
        const double error = std::abs(one.real(one.step.outputs[0], m * size + n) - wanted * factor);
        if (!(error <= 1e-6 * magnitude * factor)) FAIL(fmt::format("{} {}: {}", m, n, error));
      }
    }
  }
}

}  // namespace
}  // namespace onnxkit::tests::cuda_float8
