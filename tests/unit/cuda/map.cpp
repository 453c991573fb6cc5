#include <doctest/doctest.h>

#include <cmath>

#include "libonnxkit/cpu/map/program.h"
#include "tests/unit/cuda/random_steps.h"

namespace onnxkit::tests::cuda_map {
namespace {

using plan::Expression;
using plan::Lane;
using plan::Operation;

constexpr ElementType types[] = {ElementType::float16, ElementType::bfloat16, ElementType::float32,
                                 ElementType::float64, ElementType::int8,     ElementType::int16,
                                 ElementType::int32,   ElementType::int64,    ElementType::uint8,
                                 ElementType::uint16,  ElementType::uint32,   ElementType::boolean};

bool takes_reals(Operation operation) {
  return operation < Operation::logical_not || (operation > Operation::round_to && operation < Operation::logical_and);
}
bool takes_integers(Operation operation) {
  using enum Operation;
  switch (operation) {
    case negate:
    case absolute:
    case sign:
    case logical_not:
    case bitwise_not:
    case add:
    case subtract:
    case multiply:
    case minimum:
    case maximum:
    case equal:
    case less:
    case less_or_equal:
    case logical_and:
    case logical_or:
    case logical_xor:
    case bitwise_and:
    case bitwise_or:
    case bitwise_xor:
      return true;
    default:
      return false;
  }
}

/// One operation on operands of a lane, and what it gives as an element of `result`. Those that the backend cpu has.
Expression expression_of(Operation operation, Lane lane, ElementType input) {
  Expression e;
  Expression::Number x[3] = {};
  const int arity = plan::arity_of(operation);
  for (int i = 0; i < arity; ++i) x[i] = e.convert(e.input(static_cast<std::size_t>(i), plan::lane_of(input)), lane);
  e.apply(operation, x[0], x[1], x[2]);
  return e;
}

struct Case {
  HostStep step;
  Expression expression;
};

/// The number of the backend cpu for one element.
void expect_element(const Case& one, const plan::Dims& at, std::byte* result) {
  std::vector<cpu::BlockOperand> operands;
  std::vector<ElementType> input_types;
  std::vector<char> ones;
  for (const plan::View& view : one.step.step.inputs) {
    const auto width = storage_bits(view.type) / 8;
    operands.push_back({one.step.memory[view.buffer].data() + place_of(view, at) * width, 0, 0});
    input_types.push_back(view.type);
  }
  const std::array<bool, 8> one_for_all{};
  const plan::View& to = one.step.step.outputs[0];
  const auto program =
      cpu::Program::make(one.expression, input_types, std::span(one_for_all).first(input_types.size()), to.type);
  REQUIRE(program);
  std::vector<std::byte> scratch(program->scratch_bytes());
  program->run(operands, {result, 0, 0}, 1, 1, scratch.data());
}

/// Bits are equal, or the functions of the two mathematical libraries are as near as they promise.
bool agrees(ElementType type, double found, double wanted) {
  if (std::isnan(wanted)) return std::isnan(found);
  if (found == wanted) return true;
  const double unit = type == ElementType::float64   ? 0x1p-52
                      : type == ElementType::float32 ? 0x1p-23
                      : type == ElementType::float16 ? 0x1p-10
                                                     : 0x1p-7;
  return is_floating(type) && std::abs(found - wanted) <= 4 * unit * std::abs(wanted) + 0x1p-148;
}

std::int64_t faults_of(Case& one) {
  const plan::View& to = one.step.step.outputs[0];
  const auto width = static_cast<std::size_t>(storage_bits(to.type) / 8);
  HostStep wanted = one.step;
  std::int64_t faults = 0;
  for_each_element(to.dims, [&](const plan::Dims& at) {
    const std::int64_t place = place_of(to, at);
    std::byte* const bytes = wanted.memory[to.buffer].data() + static_cast<std::size_t>(place) * width;
    expect_element(one, at, bytes);
    faults += !agrees(to.type, one.step.real(to, place), wanted.real(to, place));
  });
  return faults;
}

void check(std::vector<Case>& cases) {
  HostProgram program;
  for (Case& one : cases) {
    REQUIRE(one.step.error == "");
    program.add(one.step);
  }
  REQUIRE(program.compile() == "");
  for (Case& one : cases) {
    CAPTURE(one.expression.text());
    CAPTURE(one.step.launches[0].text);
    REQUIRE(program.run(one.step) == "");
    CHECK(faults_of(one) == 0);
  }
}

}  // namespace

TEST_CASE("generated maps compute what those of the backend cpu do, in every type, order and lane") {
  Random random(1);
  std::vector<Case> cases;
  for (int number = static_cast<int>(Operation::negate); number <= static_cast<int>(Operation::select); ++number) {
    const auto operation = static_cast<Operation>(number);
    if (operation == Operation::convert || operation == Operation::round_to) continue;
    for (const ElementType type : types) {
      const Lane lane = plan::lane_of(type);
      if (!(lane == Lane::i64 ? takes_integers(operation) : takes_reals(operation))) continue;
      const Expression e = expression_of(operation, lane, type);
      const ElementType probe_types[] = {type, type, type};
      const bool ones[3] = {};
      const auto arity = static_cast<std::size_t>(plan::arity_of(operation));
      const ElementType result = e.lane(e.last()) == lane ? type : ElementType::int64;
      if (!cpu::Program::make(e, std::span(probe_types).first(arity), std::span(ones).first(arity), result)) continue;
      const plan::Dims dims = {3, 1 + random.below(4), 7};
      plan::Step step{.kind = plan::map_step};
      for (std::size_t i = 0; i < arity; ++i)
        step.inputs.push_back(random.view(static_cast<std::uint32_t>(i), type, dims, true));
      step.outputs.push_back(random.view(static_cast<std::uint32_t>(arity), result, dims, false));
      auto parameters = std::make_shared<plan::MapParameters>();
      parameters->expression = e;
      step.parameters = parameters;
      cases.push_back({HostStep(step), e});
      random.fill(cases.back().step, true);
    }
  }
  CHECK(cases.size() > 150);
  check(cases);
}

TEST_CASE("generated conversions between all types") {
  Random random(2);
  std::vector<Case> cases;
  for (const ElementType from : types) {
    for (const ElementType to : types) {
      Expression e;
      e.convert(e.input(0, plan::lane_of(from)), plan::lane_of(to));
      if (random.one_in(2)) e.round_to(e.last(), to);
      const plan::Dims dims = {random.one_in(2) ? 600 : 5, 8};
      plan::Step step{.kind = plan::map_step,
                      .inputs = {random.view(0, from, dims, random.one_in(2))},
                      .outputs = {random.view(1, to, dims, false)}};
      auto parameters = std::make_shared<plan::MapParameters>();
      parameters->expression = e;
      step.parameters = parameters;
      cases.push_back({HostStep(step), e});
      random.fill(cases.back().step, true);
    }
  }
  check(cases);
}

}  // namespace onnxkit::tests::cuda_map
