#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/cuda/random_steps.h"

// Generated kernels that sum rows by weights, against sums in double.
namespace onnxkit::tests::cuda_weighted_gather {
namespace {

using plan::View;

struct Shape {
  std::int64_t outer, rows, points, taps, columns;
};

/// With columns side by side, or rows; taps of a point as far apart as there are points.
HostStep random_weighted_gather(Random& random, const Shape& of, ElementType type, bool is_planar,
                                bool takes_greatest) {
  constexpr std::int64_t swapped[] = {0, 2, 1}, taps_last[] = {1, 2, 0};
  const auto table = [&](std::uint32_t buffer, ElementType stored, std::int64_t rows) {
    if (!is_planar) return HostStep::view(buffer, stored, {of.outer, rows, of.columns});
    return permuted(HostStep::view(buffer, stored, {of.outer, of.columns, rows}), swapped);
  };
  const auto by_taps = [&](std::uint32_t buffer, ElementType stored) {
    return permuted(HostStep::view(buffer, stored, {of.taps, of.outer, of.points}), taps_last);
  };
  const ElementType wide = type == ElementType::float64 ? type : ElementType::float32;
  auto parameters = std::make_shared<plan::WeightedGatherParameters>();
  parameters->takes_greatest = takes_greatest;
  HostStep one(plan::Step{.kind = plan::weighted_gather_step,
                          .inputs = {table(0, type, of.rows), by_taps(1, ElementType::int64), by_taps(2, wide)},
                          .outputs = {table(3, type, of.points)},
                          .parameters = parameters});
  random.fill(one, false);
  for (std::int64_t& position : one.integers(1)) position = random.below(of.rows + 1) - 1;
  return one;
}

std::int64_t weighted_gather_faults(const HostStep& one) {
  const View &data = one.step.inputs[0], &positions = one.step.inputs[1], &weights = one.step.inputs[2],
             &y = one.step.outputs[0];
  const bool takes_greatest = static_cast<const plan::WeightedGatherParameters&>(*one.step.parameters).takes_greatest;
  std::int64_t faults = 0;
  for_each_element(y.dims, [&](const plan::Dims& at) {
    double sum = 0, greatest = 0, magnitude = 0;
    bool is_first = true;
    for (std::int64_t t = 0; t < positions.dims[2]; ++t) {
      const auto row = static_cast<std::int64_t>(one.real(positions, place_of(positions, {at[0], at[1], t})));
      if (row < 0) continue;
      const double term =
          one.real(weights, place_of(weights, {at[0], at[1], t})) * one.real(data, place_of(data, {at[0], row, at[2]}));
      greatest = is_first ? term : std::max(greatest, term);
      is_first = false;
      sum += term, magnitude += std::abs(term);
    }
    const double expected = takes_greatest ? greatest : sum;
    const double in_sums = y.type == ElementType::float64 ? 0x1p-53 : 0x1p-24;
    const double unit = y.type == ElementType::bfloat16 ? 0x1p-8 : in_sums;
    const double most = 8 * in_sums * magnitude + 2 * unit * std::abs(expected) + 0x1p-60;
    faults += !(std::abs(one.real(y, place_of(y, at)) - expected) <= most);
  });
  return faults;
}

}  // namespace

TEST_CASE("generated kernels sum rows by weights, or take the greatest") {
  Random random(41);
  std::vector<HostStep> steps;
  const Shape shapes[] = {{1, 1, 1, 1, 1}, {2, 5, 7, 4, 3}, {1, 9, 30, 16, 8}, {3, 4, 2, 2, 33}};
  for (const Shape& shape : shapes)
    for (const ElementType type : {ElementType::float32, ElementType::float64, ElementType::bfloat16})
      for (const bool is_planar : {false, true})
        for (const bool takes_greatest : {false, true})
          steps.push_back(random_weighted_gather(random, shape, type, is_planar, takes_greatest));
  check_steps(steps, weighted_gather_faults);
}

TEST_CASE("generated weighted gathers tell of rows that are not there") {
  Random random(42);
  HostStep one = random_weighted_gather(random, {1, 4, 3, 2, 5}, ElementType::float32, false, false);
  REQUIRE(one.error == "");
  HostProgram program;
  program.add(one);
  REQUIRE(program.compile() == "");
  for (const std::int64_t position : {-7, 0, 3}) {
    one.integers(1)[1] = position;
    CHECK(program.run(one) == "");
  }
  one.integers(1)[1] = 4;
  CHECK(program.run(one) == "a kernel found a fault");
}

}  // namespace onnxkit::tests::cuda_weighted_gather
