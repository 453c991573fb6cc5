#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/unit/cuda/random_steps.h"

// Recurrences against the formulas of ONNX in double, sequence by sequence.
namespace onnxkit::tests::cuda_recurrent {
namespace {

using plan::Activation;
using plan::Cell;
using plan::Dims;
using plan::View;

double activated(const Activation& activation, double x) {
  const double alpha = activation.alpha, beta = activation.beta;
  switch (activation.function) {
    case Activation::Function::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::Function::tanh:
      return std::tanh(x);
    case Activation::Function::relu:
      return std::max(x, 0.0);
    case Activation::Function::affine:
      return alpha * x + beta;
    case Activation::Function::leaky_relu:
      return x < 0 ? alpha * x : x;
    case Activation::Function::thresholded_relu:
      return x < alpha ? 0 : x;
    case Activation::Function::scaled_tanh:
      return alpha * std::tanh(beta * x);
    case Activation::Function::hard_sigmoid:
      return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case Activation::Function::elu:
      return x < 0 ? alpha * (std::exp(x) - 1) : x;
    case Activation::Function::softsign:
      return x / (1 + std::abs(x));
    case Activation::Function::softplus:
      return std::log(1 + std::exp(x));
  }
  return x;
}

/// One sequence after the other; what the step wrote is compared as it comes.
class Recurrence {
 public:
  explicit Recurrence(const HostStep& one)
      : one_(one),
        of_(static_cast<const plan::RecurrentParameters&>(*one.step.parameters)),
        x_(one.step.inputs[0]),
        weights_(one.step.inputs[1]),
        units_(weights_.dims[1]) {
    std::size_t next = 3;
    if (of_.cell == Cell::lstm) first_c_ = one.step.inputs[next++];
    if (of_.resets_behind) bias_ = one.step.inputs[next++];
    if (of_.has_peepholes) peepholes_ = one.step.inputs[next++];
    if (of_.has_lengths) lengths_ = one.step.inputs[next++];
  }

  std::int64_t faults() {
    for (row_ = 0; row_ < x_.dims[1]; ++row_) run_row();
    return faults_;
  }

 private:
  double at(const View& view, const Dims& place) const { return one_.real(view, place_of(view, place)); }

  void compare(const View& view, const Dims& place, double wanted) {
    const double found = at(view, place), unit = x_.type == ElementType::float64 ? 0x1p-53 : 0x1p-24;
    faults_ += !(std::abs(found - wanted) <= 2000 * unit * std::max(1.0, std::abs(wanted)));
  }

  void run_row() {
    const std::int64_t all = x_.dims[0],
                       length = of_.has_lengths ? static_cast<std::int64_t>(at(lengths_, {row_})) : all;
    const auto count = static_cast<std::size_t>(units_);
    h_.resize(count), c_.resize(count);
    for (std::int64_t i = 0; i < units_; ++i) {
      h_[static_cast<std::size_t>(i)] = at(one_.step.inputs[2], {row_, i});
      if (of_.cell == Cell::lstm) c_[static_cast<std::size_t>(i)] = at(first_c_, {row_, i});
    }
    for (std::int64_t i = 0; i < length; ++i) {
      time_ = of_.is_reverse ? length - 1 - i : i;
      step();
      for (std::int64_t unit = 0; unit < units_; ++unit)
        compare(one_.step.outputs[0], {time_, row_, unit}, h_[static_cast<std::size_t>(unit)]);
    }
    for (std::int64_t unit = 0; unit < units_; ++unit) {
      for (std::int64_t time = length; time < all; ++time) faults_ += at(one_.step.outputs[0], {time, row_, unit}) != 0;
      const auto place = static_cast<std::size_t>(unit);
      compare(one_.step.outputs[1], {row_, unit}, length == 0 ? 0 : h_[place]);
      if (of_.cell == Cell::lstm) compare(one_.step.outputs[2], {row_, unit}, length == 0 ? 0 : c_[place]);
    }
  }

  double gate(std::int64_t number, std::int64_t unit) const { return at(x_, {time_, row_, number * units_ + unit}); }
  double product(std::int64_t number, std::int64_t unit, const std::vector<double>& state) const {
    double sum = 0;
    for (std::int64_t k = 0; k < units_; ++k)
      sum += at(weights_, {number * units_ + unit, k}) * state[static_cast<std::size_t>(k)];
    return sum;
  }
  double activate(std::size_t activation, double x) const {
    if (of_.clip) x = std::clamp(x, -static_cast<double>(*of_.clip), static_cast<double>(*of_.clip));
    return activated(of_.activations[activation], x);
  }
  double peephole(std::int64_t number, std::int64_t unit, double c) const {
    return of_.has_peepholes ? at(peepholes_, {number * units_ + unit}) * c : 0;
  }

  void step() {
    std::vector<double> next = h_, scaled = h_;
    for (std::int64_t unit = 0; unit < units_ && of_.cell == Cell::gru; ++unit)
      scaled[static_cast<std::size_t>(unit)] *= activate(0, gate(1, unit) + product(1, unit, h_));
    for (std::int64_t unit = 0; unit < units_; ++unit) {
      const auto place = static_cast<std::size_t>(unit);
      if (of_.cell == Cell::rnn) {
        next[place] = activate(0, gate(0, unit) + product(0, unit, h_));
      } else if (of_.cell == Cell::gru) {
        const double update = activate(0, gate(0, unit) + product(0, unit, h_));
        const double reset = activate(0, gate(1, unit) + product(1, unit, h_));
        const double candidate = of_.resets_behind ? gate(2, unit) + reset * (product(2, unit, h_) + at(bias_, {unit}))
                                                   : gate(2, unit) + product(2, unit, scaled);
        next[place] = (1 - update) * activate(1, candidate) + update * h_[place];
      } else {
        const double before = c_[place];
        const double input = activate(0, gate(0, unit) + product(0, unit, h_) + peephole(0, unit, before));
        const double forget =
            of_.couples ? 1 - input : activate(0, gate(2, unit) + product(2, unit, h_) + peephole(2, unit, before));
        c_[place] = forget * before + input * activate(1, gate(3, unit) + product(3, unit, h_));
        const double output = activate(0, gate(1, unit) + product(1, unit, h_) + peephole(1, unit, c_[place]));
        next[place] = output * activated(of_.activations[2], c_[place]);
      }
    }
    h_ = next;
  }

  const HostStep& one_;
  const plan::RecurrentParameters& of_;
  View x_, weights_, first_c_, bias_, peepholes_, lengths_;
  std::int64_t units_, row_ = 0, time_ = 0, faults_ = 0;
  std::vector<double> h_, c_;
};

HostStep random_recurrence(Random& random, int number) {
  auto of = std::make_shared<plan::RecurrentParameters>();
  of->cell = static_cast<Cell>(number % 3);
  of->is_reverse = random.one_in(2);
  of->resets_behind = of->cell == Cell::gru && random.one_in(2);
  of->couples = of->cell == Cell::lstm && random.one_in(3);
  of->has_peepholes = of->cell == Cell::lstm && random.one_in(2);
  of->has_lengths = random.one_in(2);
  if (random.one_in(3)) of->clip = 0.75F;
  constexpr std::int64_t gates[] = {1, 3, 4}, functions = 11;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(of->cell); ++i) {
    Activation activation{
        .function = static_cast<Activation::Function>(random.below(functions)), .alpha = 0.3F, .beta = 0.5F};
    of->activations.push_back(activation);
  }
  const ElementType type = random.one_in(2) ? ElementType::float32 : ElementType::float64;
  const std::int64_t time = 1 + random.below(4), batch = 1 + random.below(10), units = 1 + random.below(40);
  const std::int64_t width = gates[number % 3] * units;
  std::uint32_t buffer = 0;
  plan::Step step{.kind = plan::recurrent_step, .parameters = of};
  step.inputs = {HostStep::view(buffer++, type, {time, batch, width}),
                 random.view(buffer++, type, {width, units}, false)};
  step.inputs.push_back(random.view(buffer++, type, {batch, units}, true));
  if (of->cell == Cell::lstm) step.inputs.push_back(random.view(buffer++, type, {batch, units}, true));
  if (of->resets_behind) step.inputs.push_back(HostStep::view(buffer++, type, {units}));
  if (of->has_peepholes) step.inputs.push_back(HostStep::view(buffer++, type, {3 * units}));
  if (of->has_lengths) step.inputs.push_back(HostStep::view(buffer++, ElementType::int32, {batch}));
  step.outputs = {random.view(buffer++, type, {time, batch, units}, false)};
  step.outputs.push_back(random.view(buffer++, type, {batch, units}, false));
  if (of->cell == Cell::lstm) step.outputs.push_back(random.view(buffer++, type, {batch, units}, false));
  HostStep made(step);
  random.fill(made, false);
  auto& weights = made.memory[step.inputs[1].buffer];  // small, so that states stay near 1
  std::vector<double> reals(weights.size() * 8 / static_cast<std::size_t>(storage_bits(type)));
  for (double& x : reals) x = random.normal() / std::sqrt(static_cast<double>(units)) / 2;
  encode(type, std::span<const double>(reals), weights);
  if (of->has_lengths) {
    auto& bytes = made.memory[step.inputs.back().buffer];
    for (std::int64_t row = 0; row < batch; ++row) {
      const auto length = static_cast<std::int32_t>(random.below(time + 1));
      std::memcpy(bytes.data() + static_cast<std::size_t>(row) * sizeof(length), &length, sizeof(length));
    }
  }
  return made;
}

}  // namespace

TEST_CASE("generated recurrences of all forms") {
  Random random(21);
  std::vector<HostStep> steps;
  HostProgram program;
  for (int i = 0; i < 60; ++i) {
    steps.push_back(random_recurrence(random, i));
    REQUIRE(steps.back().error == "");
    program.add(steps.back());
  }
  REQUIRE(program.compile() == "");
  for (HostStep& one : steps) {
    CAPTURE(one.launches[0].text);
    HostStep again = one;
    REQUIRE(program.run(one) == "");
    CHECK(Recurrence(one).faults() == 0);
    REQUIRE(program.run(again, true) == "");
    CHECK(again.memory == one.memory);
  }
}

TEST_CASE("a sequence that is longer than its input is a fault") {
  Random random(22);
  HostStep one = random_recurrence(random, 0);
  while (!static_cast<const plan::RecurrentParameters&>(*one.step.parameters).has_lengths)
    one = random_recurrence(random, 0);
  const auto too_long = static_cast<std::int32_t>(one.step.inputs[0].dims[0] + 1);
  std::memcpy(one.memory[one.step.inputs.back().buffer].data(), &too_long, sizeof(too_long));
  HostProgram program;
  program.add(one);
  REQUIRE(program.compile() == "");
  CHECK(program.run(one) == "a kernel found a fault");
}

}  // namespace onnxkit::tests::cuda_recurrent
