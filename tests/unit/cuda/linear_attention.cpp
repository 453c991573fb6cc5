#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/cuda/random_steps.h"

// Generated kernels of linear attention against loops in double.
namespace onnxkit::tests::cuda_linear_attention {
namespace {

using plan::Dims;
using plan::View;

struct Heads {
  std::int64_t queries, keys, states;
};
struct Shape {
  std::int64_t batch, time, keys, values;
  bool has_decay = false, decays_rows = false, has_rate = false, has_one_rate = false;
};

HostStep random_linear_attention(Random& random, const Shape& of, const Heads& heads, ElementType type) {
  auto parameters = std::make_shared<plan::LinearAttentionParameters>();
  parameters->scale = 0.5;
  parameters->has_decay = of.has_decay;
  parameters->has_rate = of.has_rate;
  const ElementType wide = type == ElementType::float64 ? type : ElementType::float32;
  plan::Step step{.kind = plan::linear_attention_step, .parameters = parameters};
  // As models have them: heads beside one another, behind the axis of time.
  const auto add = [&](std::int64_t count, std::int64_t size, ElementType stored) {
    constexpr std::int64_t heads_first[] = {0, 2, 1, 3};
    const View packed =
        HostStep::view(static_cast<std::uint32_t>(step.inputs.size()), stored, {of.batch, of.time, count, size});
    step.inputs.push_back(permuted(packed, heads_first));
  };
  add(heads.queries, of.keys, type);
  add(heads.keys, of.keys, type);
  add(heads.states, of.values, type);
  const Dims state = {of.batch, heads.states, of.keys, of.values};
  step.inputs.push_back(HostStep::view(3, wide, state));
  if (of.has_decay) add(heads.states, of.decays_rows ? of.keys : 1, wide);
  if (of.has_rate) add(of.has_one_rate ? 1 : heads.states, 1, wide);
  const auto next = static_cast<std::uint32_t>(step.inputs.size());
  step.outputs = {HostStep::view(next, type, {of.batch, std::max(heads.queries, heads.states), of.time, of.values}),
                  HostStep::view(next + 1, wide, state)};
  HostStep one(step);
  random.fill(one, false);
  return one;
}

/// Results and states that are farther from those in double than so many units of their type.
std::int64_t linear_attention_faults(const HostStep& one) {
  const auto& of = static_cast<const plan::LinearAttentionParameters&>(*one.step.parameters);
  const auto& in = one.step.inputs;
  const View &q = in[0], &k = in[1], &v = in[2], &y = one.step.outputs[0], &last = one.step.outputs[1];
  const View *decay = of.has_decay ? &in[4] : nullptr, *rate = of.has_rate ? &in.back() : nullptr;
  const auto real = [&](const View& view, Dims at) {
    for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] = at[axis] % view.dims[axis];
    return one.real(view, place_of(view, at));
  };
  const std::int64_t states = v.dims[1], results = y.dims[1], keys = k.dims[3], values = v.dims[3];
  const double unit = y.type == ElementType::float64 ? 0x1p-53 : y.type == ElementType::float32 ? 0x1p-24 : 0x1p-9;
  const double unit_of_state = y.type == ElementType::float64 ? 0x1p-53 : 0x1p-24;
  std::int64_t faults = 0;
  for (std::int64_t b = 0; b < v.dims[0]; ++b) {
    for (std::int64_t s = 0; s < states; ++s) {
      for (std::int64_t j = 0; j < values; ++j) {
        std::vector<double> state;
        for (std::int64_t i = 0; i < keys; ++i) state.push_back(real(in[3], {b, s, i, j}));
        double size = 1;  // the greatest number that was rounded
        for (std::int64_t t = 0; t < v.dims[2]; ++t) {
          const auto key = [&](std::int64_t i) { return real(k, {b, s * k.dims[1] / states, t, i}); };
          double known = 0;
          for (std::int64_t i = 0; i < keys; ++i) {
            double& number = state[static_cast<std::size_t>(i)];
            if (decay) number *= std::exp(real(*decay, {b, s, t, i}));
            known += number * key(i), size = std::max(size, std::abs(number * key(i)));
          }
          const double value = real(v, {b, s, t, j});
          const double written = rate ? real(*rate, {b, s, t, 0}) * (value - known) : value;
          for (std::int64_t i = 0; i < keys; ++i) {
            state[static_cast<std::size_t>(i)] += key(i) * written;
            size = std::max({size, std::abs(key(i) * written), std::abs(state[static_cast<std::size_t>(i)])});
          }
          for (std::int64_t r = s * results / states; r < (s + 1) * results / states; ++r) {
            double sum = 0, magnitude = size;
            for (std::int64_t i = 0; i < keys; ++i) {
              const double term = state[static_cast<std::size_t>(i)] * real(q, {b, r * q.dims[1] / results, t, i});
              sum += term, magnitude += std::abs(term);
            }
            const double most = 64 * unit_of_state * static_cast<double>(keys) * magnitude + 2 * unit * std::abs(sum);
            faults += !(std::abs(one.real(y, place_of(y, {b, r, t, j})) - 0.5 * sum) <= most);
          }
        }
        for (std::int64_t i = 0; i < keys; ++i) {
          const double found = one.real(last, place_of(last, {b, s, i, j}));
          faults += !(std::abs(found - state[static_cast<std::size_t>(i)]) <=
                      64 * unit_of_state * static_cast<double>(keys) * size);
        }
      }
    }
  }
  return faults;
}

}  // namespace

TEST_CASE("generated linear attention with heads that are shared, with and without decay and rate") {
  Random random(31);
  std::vector<HostStep> steps;
  const Heads all_heads[] = {{1, 1, 1}, {4, 2, 2}, {2, 2, 4}, {2, 1, 4}};
  int which = 0;
  for (const Heads& heads : all_heads) {
    for (const ElementType type : {ElementType::float32, ElementType::float64, ElementType::bfloat16}) {
      for (const std::int64_t keys : {3, 32, 40}) {
        Shape shape{.batch = 2, .time = 3, .keys = keys, .values = which % 2 == 0 ? 5 : 8};
        shape.has_decay = which % 3 != 0;
        shape.decays_rows = which % 3 == 2;
        shape.has_rate = which % 4 < 2;
        shape.has_one_rate = which % 8 < 4;
        steps.push_back(random_linear_attention(random, shape, heads, type));
        ++which;
      }
    }
  }
  check_steps(steps, linear_attention_faults);
}

TEST_CASE("a state of more keys than threads hold is refused") {
  Random random(32);
  const Shape shape{.batch = 1, .time = 1, .keys = 257, .values = 2};
  CHECK(random_linear_attention(random, shape, {1, 1, 1}, ElementType::float32).error != "");
}

}  // namespace onnxkit::tests::cuda_linear_attention
