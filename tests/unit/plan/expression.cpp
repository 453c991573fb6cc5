// Expressions (libonnxkit/plan/expression.h) and programs that compute them (libonnxkit/cpu/map/program.h).
#include "libonnxkit/plan/expression.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "libonnxkit/cpu/map/program.h"

namespace onnxkit::tests::plan_expression {
namespace {

using plan::Expression;
using plan::Lane;
using plan::Operation;

Expression sum_of_two() {
  Expression e;
  const auto x = e.input(0, Lane::f32), y = e.input(1, Lane::f32);
  e.apply(Operation::add, x, y);
  return e;
}

TEST_CASE("an expression takes the place of an input") {
  Expression outer;
  const auto x = outer.input(0, Lane::f32), y = outer.input(1, Lane::f32);
  outer.apply(Operation::multiply, x, y);
  CHECK(outer.with_input(0, sum_of_two()).text() == "mul(add(x1, x2), x0)");
  CHECK(outer.with_input(1, sum_of_two()).text() == "mul(x0, add(x1, x2))");
  const std::size_t swapped[] = {1, 0};
  CHECK(outer.renumbered(swapped).text() == "mul(x1, x0)");
}

TEST_CASE("an expression that is its input becomes what the input is") {
  Expression same;
  same.input(0, Lane::f32);
  CHECK(same.with_input(0, sum_of_two()).text() == "add(x0, x1)");
}

std::vector<float> computed(const Expression& expression, const std::vector<std::vector<float>>& inputs,
                            std::int64_t rows, std::int64_t columns, const std::vector<cpu::BlockOperand>& strides) {
  const std::vector<ElementType> types(inputs.size(), ElementType::float32);
  bool ones[8] = {};
  for (std::size_t i = 0; i < inputs.size(); ++i) ones[i] = strides[i].row_stride == 0 && strides[i].column_stride == 0;
  const auto program =
      cpu::Program::make(expression, types, std::span(ones).first(inputs.size()), ElementType::float32);
  REQUIRE(program);
  std::vector<cpu::BlockOperand> operands = strides;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    operands[i].data = reinterpret_cast<const std::byte*>(inputs[i].data());
  std::vector<float> result(static_cast<std::size_t>(rows * columns), -1);
  std::vector<std::byte> scratch(program->scratch_bytes());
  program->run(operands, {reinterpret_cast<const std::byte*>(result.data()), columns, 1}, rows, columns,
               scratch.data());
  return result;
}

TEST_CASE("a program broadcasts rows, columns and single numbers") {
  Expression e;
  const auto x = e.input(0, Lane::f32), row = e.input(1, Lane::f32), one = e.input(2, Lane::f32);
  e.apply(Operation::maximum, e.apply(Operation::add, x, row), one);
  const auto result = computed(e, {{1, 2, 3, 4, 5, 6}, {10, -10, 0}, {0.5F}}, 2, 3,
                               {{nullptr, 3, 1}, {nullptr, 0, 1}, {nullptr, 0, 0}});
  CHECK(result == std::vector<float>{11, 0.5F, 3, 14, 0.5F, 6});
}

TEST_CASE("a maximum passes NaN on, a comparison with it is false") {
  Expression greatest;
  greatest.apply(Operation::maximum, greatest.input(0, Lane::f32), greatest.constant(Lane::f32, 0));
  const std::vector<float> numbers = {NAN, -1, 2};
  const auto result = computed(greatest, {numbers}, 1, 3, {{nullptr, 3, 1}});
  CHECK(std::isnan(result[0]));
  CHECK(result[1] == 0);
  CHECK(result[2] == 2);
  Expression chosen;
  const auto x = chosen.input(0, Lane::f32);
  const auto is_less = chosen.apply(Operation::less, x, chosen.constant(Lane::f32, 0));
  chosen.apply(Operation::select, is_less, chosen.constant(Lane::f32, 7), chosen.constant(Lane::f32, 8));
  CHECK(computed(chosen, {numbers}, 1, 3, {{nullptr, 3, 1}}) == std::vector<float>{8, 7, 8});
}

TEST_CASE("rounding to float16 keeps subnormal numbers and overflows to infinity") {
  Expression e;
  e.round_to(e.input(0, Lane::f32), ElementType::float16);
  const auto result =
      computed(e, {{65519.0F, 65520.0F, 0x1p-24F, 0x1p-26F, 1.0009765625F, -0.0F}}, 1, 6, {{nullptr, 6, 1}});
  CHECK(result[0] == 65504);
  CHECK(std::isinf(result[1]));
  CHECK(result[2] == 0x1p-24F);
  CHECK(result[3] == 0);
  CHECK(result[4] == 1.0009765625F);
  CHECK(std::signbit(result[5]));
}

}  // namespace
}  // namespace onnxkit::tests::plan_expression
