#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "libonnxkit/cpu/map/narrow.h"
#include "libonnxkit/cpu/map/program.h"

namespace onnxkit::tests::cpu_narrow {

namespace {

using plan::Expression;
using plan::Lane;
using plan::Operation;

/// The program over all pairs of int8.
template <class T>
std::vector<T> over_all_pairs(const Expression& expression, ElementType result) {
  std::vector<std::int8_t> a, b;
  for (int x = -128; x < 128; ++x) {
    for (int y = -128; y < 128; ++y) a.push_back(static_cast<std::int8_t>(x)), b.push_back(static_cast<std::int8_t>(y));
  }
  std::vector<T> made(a.size());
  const ElementType types[] = {ElementType::int8, ElementType::int8};
  const bool ones[] = {false, false};
  const auto program = cpu::Program::make(expression, types, ones, result);
  REQUIRE(program);
  std::vector<std::byte> scratch(program->scratch_bytes());
  constexpr std::int64_t some = 256;
  for (std::size_t at = 0; at < a.size(); at += some) {
    const cpu::BlockOperand inputs[] = {{reinterpret_cast<const std::byte*>(a.data() + at), some, 1},
                                        {reinterpret_cast<const std::byte*>(b.data() + at), some, 1}};
    program->run(inputs, {reinterpret_cast<const std::byte*>(made.data() + at), some, 1}, 1, some, scratch.data());
  }
  return made;
}

bool has_integers(const Expression& expression) {
  for (const plan::Instruction& of : expression.code()) {
    if (of.lane == Lane::i64 && of.operation != Operation::is_nan) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("cpu: sums of dequantized bytes are quantized without integers of 64 bits") {
  Expression e;
  const auto real = [&](std::size_t input, std::int64_t zero, double scale) {
    const auto centered = e.apply(Operation::subtract, e.input(input, Lane::i64), e.integer(zero));
    return e.apply(Operation::multiply, e.convert(centered, Lane::f32), e.constant(Lane::f32, scale));
  };
  const auto sum = e.apply(Operation::add, real(0, 3, 0.5), real(1, -7, 0.25));
  auto whole = e.apply(Operation::round_half_even, e.apply(Operation::divide, sum, e.constant(Lane::f32, 0.75)));
  whole = e.apply(Operation::select, e.apply(Operation::is_nan, whole), e.constant(Lane::f32, 0), whole);
  whole = e.apply(Operation::add, whole, e.convert(e.integer(-5), Lane::f32));
  whole = e.apply(Operation::maximum, whole, e.constant(Lane::f32, -128));
  whole = e.apply(Operation::minimum, whole, e.constant(Lane::f32, 127));
  e.convert(whole, Lane::i64);
  const ElementType types[] = {ElementType::int8, ElementType::int8};
  CHECK_FALSE(has_integers(cpu::with_narrow_integers(e, types, ElementType::int8)));
  const auto made = over_all_pairs<std::int8_t>(e, ElementType::int8);
  std::size_t wrong = 0;
  for (int x = -128; x < 128; ++x) {
    for (int y = -128; y < 128; ++y) {
      const float number =
          std::nearbyint((static_cast<float>(x - 3) * 0.5F + static_cast<float>(y + 7) * 0.25F) / 0.75F);
      const float kept = std::min(std::max(number - 5, -128.0F), 127.0F);
      wrong += made[static_cast<std::size_t>((x + 128) * 256 + y + 128)] != static_cast<int>(kept);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("cpu: products of bytes are exact, and zero has no sign") {
  Expression e;
  e.convert(e.apply(Operation::multiply, e.input(0, Lane::i64), e.input(1, Lane::i64)), Lane::f32);
  const auto made = over_all_pairs<float>(e, ElementType::float32);
  std::size_t wrong = 0;
  for (int x = -128; x < 128; ++x) {
    for (int y = -128; y < 128; ++y) {
      const float found = made[static_cast<std::size_t>((x + 128) * 256 + y + 128)];
      wrong += found != static_cast<float>(x * y) || (x * y == 0 && std::signbit(found));
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("cpu: integers that float32 may not hold stay integers") {
  Expression e;
  const auto square = e.apply(Operation::multiply, e.input(0, Lane::i64), e.input(0, Lane::i64));
  const auto fourth = e.apply(Operation::multiply, square, square);
  e.convert(e.apply(Operation::add, fourth, e.input(1, Lane::i64)), Lane::f64);
  const auto made = over_all_pairs<double>(e, ElementType::float64);
  CHECK(made[0] == 268435456.0 - 128);
  CHECK(made[1] == 268435456.0 - 127);
}

}  // namespace onnxkit::tests::cpu_narrow
