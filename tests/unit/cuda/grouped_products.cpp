#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/cuda/random_steps.h"

// Generated kernels that multiply each row by the matrix that it chooses, against sums in double.
namespace onnxkit::tests::cuda_grouped_products {
namespace {

using plan::View;

struct Shape {
  std::int64_t rows, times, groups, n, k;
};

/// With the rows of a repeated for each of their choices, and the matrices of b transposed, or not.
HostStep random_grouped_product(Random& random, const Shape& shape, ElementType type, ElementType type_of_b,
                                bool repeats, bool is_transposed) {
  View a = HostStep::view(0, type, {shape.rows, repeats ? 1 : shape.times, shape.k});
  a = plan::broadcast_to(a, plan::Dims{shape.rows, shape.times, shape.k});
  View b = HostStep::view(1, type_of_b,
                          {shape.groups, is_transposed ? shape.n : shape.k, is_transposed ? shape.k : shape.n});
  constexpr std::int64_t swapped[] = {0, 2, 1};
  if (is_transposed) b = permuted(b, swapped);
  HostStep one(plan::Step{.kind = plan::grouped_product_step,
                          .inputs = {a, b, HostStep::view(2, ElementType::int64, {shape.rows, shape.times})},
                          .outputs = {HostStep::view(3, type, {shape.rows, shape.times, shape.n})},
                          .parameters = std::make_shared<plan::GroupedProductParameters>()});
  random.fill(one, false);
  for (std::int64_t& choice : one.integers(2)) choice = random.below(shape.groups);
  return one;
}

double unit_of_type(ElementType type) {
  return type == ElementType::float64 ? 0x1p-53 : type == ElementType::float32 ? 0x1p-24 : 0x1p-8;
}

std::int64_t grouped_product_faults(const HostStep& one) {
  const View &a = one.step.inputs[0], &b = one.step.inputs[1], &choices = one.step.inputs[2], &c = one.step.outputs[0];
  std::int64_t faults = 0;
  for_each_element(c.dims, [&](const plan::Dims& at) {
    const auto group = static_cast<std::int64_t>(one.real(choices, place_of(choices, {at[0], at[1]})));
    double sum = 0, magnitude = 0;
    for (std::int64_t k = 0; k < a.dims[2]; ++k) {
      const double term = one.real(a, place_of(a, {at[0], at[1], k})) * one.real(b, place_of(b, {group, k, at[2]}));
      sum += term, magnitude += std::abs(term);
    }
    const double in_sums = a.type == ElementType::float64 ? 0x1p-53 : 0x1p-24;
    const double most = 4 * std::sqrt(static_cast<double>(a.dims[2])) * in_sums * magnitude +
                        2 * unit_of_type(c.type) * std::abs(sum) + 0x1p-25;
    faults += !(std::abs(one.real(c, place_of(c, at)) - sum) <= most);
  });
  return faults;
}

}  // namespace

TEST_CASE("generated kernels multiply each row by the matrix that it chooses") {
  Random random(21);
  std::vector<HostStep> steps;
  const Shape shapes[] = {{1, 1, 1, 1, 1}, {1, 2, 4, 40, 64}, {5, 3, 4, 7, 33}, {3, 1, 9, 130, 16}, {2, 2, 2, 64, 300}};
  for (const Shape& shape : shapes) {
    for (const bool is_transposed : {false, true}) {
      for (const ElementType type : {ElementType::float32, ElementType::float64, ElementType::bfloat16})
        steps.push_back(random_grouped_product(random, shape, type, type, random.one_in(2), is_transposed));
      steps.push_back(
          random_grouped_product(random, shape, ElementType::float32, ElementType::float16, true, is_transposed));
    }
  }
  check_steps(steps, grouped_product_faults);
}

TEST_CASE("generated grouped products tell of matrices that are not there") {
  Random random(22);
  HostStep one =
      random_grouped_product(random, {2, 2, 3, 4, 5}, ElementType::float32, ElementType::float32, true, true);
  REQUIRE(one.error == "");
  HostProgram program;
  program.add(one);
  REQUIRE(program.compile() == "");
  for (const std::int64_t choice : {0, 2}) {
    one.integers(2)[1] = choice;
    CHECK(program.run(one) == "");
  }
  for (const std::int64_t choice : {-1, 3}) {
    one.integers(2)[1] = choice;
    CHECK(program.run(one) == "a kernel found a fault");
  }
}

}  // namespace onnxkit::tests::cuda_grouped_products
