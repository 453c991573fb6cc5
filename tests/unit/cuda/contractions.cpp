#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/cuda/random_steps.h"

// Products, convolutions and attention against sums in double.
namespace onnxkit::tests::cuda_contractions {
namespace {

using plan::Dims;
using plan::Expression;
using plan::Lane;
using plan::Operation;
using plan::View;

constexpr ElementType reals[] = {ElementType::float32, ElementType::float64, ElementType::float16,
                                 ElementType::bfloat16};

double unit_of(ElementType type) {
  return type == ElementType::float64   ? 0x1p-53
         : type == ElementType::float32 ? 0x1p-24
         : type == ElementType::float16 ? 0x1p-11
                                        : 0x1p-8;
}

/// A sum with what its rounding may amount to.
struct Sum {
  double value = 0, magnitude = 0;
  void add(double x) { value += x, magnitude += std::abs(x); }
};

/// (sum + x2) * 0.5 and at least -0.3, where there is an epilogue.
std::shared_ptr<plan::ProductParameters> product_parameters(bool has_epilogue, Lane lane) {
  auto parameters = std::make_shared<plan::ProductParameters>();
  if (!has_epilogue) return parameters;
  Expression& e = parameters->epilogue;
  const auto sum = e.apply(Operation::add, e.input(0, lane), e.input(1, lane));
  e.apply(Operation::maximum, e.apply(Operation::multiply, sum, e.constant(lane, 0.5)), e.constant(lane, -0.25));
  return parameters;
}
double finished(double sum, double added) { return std::max((sum + added) * 0.5, -0.25); }

bool is_near(ElementType type, double found, double wanted, double magnitude, double terms) {
  const double in_sums = type == ElementType::float64 ? 0x1p-53 : 0x1p-24;
  return std::abs(found - wanted) <= 4 * std::sqrt(terms) * in_sums * magnitude + 2 * unit_of(type) * std::abs(wanted) +
                                         1e-12 * 0 + (type == ElementType::float16 ? 0x1p-25 : 0);
}

HostStep random_product(Random& random, const Dims& leading, std::int64_t m, std::int64_t n, std::int64_t k,
                        ElementType type, bool has_epilogue) {
  const auto with = [&](std::int64_t rows, std::int64_t columns) {
    Dims dims = leading;
    dims.insert(dims.end(), {rows, columns});
    return dims;
  };
  plan::Step step{.kind = plan::product_step};
  step.inputs = {random.view(0, type, with(m, k), true), random.view(1, type, with(k, n), true)};
  if (has_epilogue) step.inputs.push_back(random.view(2, type, with(m, n), true));
  step.outputs = {random.view(3, type, with(m, n), false)};
  step.parameters = product_parameters(has_epilogue, plan::lane_of(type));
  HostStep result(step);
  random.fill(result, false);
  return result;
}

std::int64_t product_faults(const HostStep& one) {
  const View &a = one.step.inputs[0], &b = one.step.inputs[1], &c = one.step.outputs[0];
  std::int64_t faults = 0;
  for_each_checked_element(c.dims, [&](const Dims& at) {
    Sum sum;
    Dims at_a = at, at_b = at;
    for (std::int64_t k = 0; k < a.dims.back(); ++k) {
      at_a.back() = k, at_b[at_b.size() - 2] = k;
      sum.add(one.real(a, place_of(a, at_a)) * one.real(b, place_of(b, at_b)));
    }
    double wanted = sum.value;
    if (one.step.inputs.size() > 2) {
      const double added = one.real(one.step.inputs[2], place_of(one.step.inputs[2], at));
      wanted = finished(sum.value, added);
      sum.magnitude += std::abs(added);
    }
    faults += !is_near(c.type, one.real(c, place_of(c, at)), wanted, sum.magnitude, static_cast<double>(a.dims.back()));
  });
  return faults;
}

HostStep random_convolution(Random& random, std::size_t axes, std::int64_t groups, std::int64_t in_channels,
                            std::int64_t out_channels, std::int64_t size, ElementType type, bool has_epilogue) {
  auto p = std::make_shared<plan::ConvolutionParameters>();
  p->groups = groups;
  p->epilogue = product_parameters(has_epilogue, plan::lane_of(type))->epilogue;
  Dims in = {1 + random.below(2), groups * in_channels}, out = {in[0], groups * out_channels},
       weights = {groups * out_channels, in_channels};
  for (std::size_t i = 0; i < axes; ++i) {
    weights.push_back(1 + random.below(3));
    p->strides.push_back(1 + random.below(2));
    p->dilations.push_back(1 + random.below(2));
    p->pads.push_back(random.below(3));
    in.push_back(size + random.below(5));
  }
  for (std::size_t i = 0; i < axes; ++i) {
    p->pads.push_back(random.below(3));
    const std::int64_t span = (weights[i + 2] - 1) * p->dilations[i] + 1;
    out.push_back(std::max<std::int64_t>(1, (in[i + 2] + p->pads[i] + p->pads[axes + i] - span) / p->strides[i] + 1));
  }
  plan::Step step{.kind = plan::convolution_step,
                  .inputs = {random.view(0, type, in, false), random.view(1, type, weights, false)},
                  .outputs = {random.view(3, type, out, false)},
                  .parameters = p};
  if (has_epilogue) step.inputs.push_back(random.view(2, type, out, true));
  HostStep result(step);
  random.fill(result, false);
  if (random.one_in(2)) result.make_constant(1);
  return result;
}

std::int64_t convolution_faults(const HostStep& one) {
  const View &x = one.step.inputs[0], &w = one.step.inputs[1], &y = one.step.outputs[0];
  const auto& p = static_cast<const plan::ConvolutionParameters&>(*one.step.parameters);
  const std::int64_t out_channels = y.dims[1] / p.groups;
  const Dims taps(w.dims.begin() + 1, w.dims.end());
  std::int64_t faults = 0;
  for_each_checked_element(y.dims, [&](const Dims& at) {
    Sum sum;
    for_each_element(taps, [&](const Dims& tap) {
      Dims from = at, weight = tap;
      weight.insert(weight.begin(), at[1]);
      from[1] = at[1] / out_channels * w.dims[1] + tap[0];
      for (std::size_t i = 0; i + 2 < at.size(); ++i) {
        from[i + 2] = at[i + 2] * p.strides[i] - p.pads[i] + tap[i + 1] * p.dilations[i];
        if (from[i + 2] < 0 || from[i + 2] >= x.dims[i + 2]) return;
      }
      sum.add(one.real(x, place_of(x, from)) * one.real(w, place_of(w, weight)));
    });
    double wanted = sum.value;
    if (one.step.inputs.size() > 2) {
      const double added = one.real(one.step.inputs[2], place_of(one.step.inputs[2], at));
      wanted = finished(sum.value, added);
      sum.magnitude += std::abs(added);
    }
    faults += !is_near(y.type, one.real(y, place_of(y, at)), wanted, sum.magnitude,
                       static_cast<double>(plan::element_count(taps)));
  });
  return faults;
}

HostStep random_attention(Random& random, const Dims& q_dims, std::int64_t sharing, std::int64_t keys,
                          std::int64_t values, ElementType type, bool has_mask) {
  auto p = std::make_shared<plan::AttentionParameters>();
  p->scale = 0.7F;
  p->is_causal = random.one_in(2);
  const Dims k_dims = {q_dims[0], q_dims[1] / sharing, keys, q_dims[3]};
  Dims v_dims = k_dims, to_dims = q_dims, scores = q_dims;
  v_dims[3] = to_dims[3] = values;
  scores[3] = keys;
  plan::Step step{.kind = plan::attention_step,
                  .inputs = {random.view(0, type, q_dims, false), random.view(1, type, k_dims, false),
                             random.view(2, type, v_dims, false)},
                  .outputs = {random.view(4, type, to_dims, false)},
                  .parameters = p};
  if (has_mask) step.inputs.push_back(random.view(3, type, scores, true));
  HostStep result(step);
  random.fill(result, false);
  if (!has_mask) return result;
  // Some keys are hidden, for some queries all of them.
  const View& mask = step.inputs[3];
  const double hidden = -INFINITY;
  const auto width = static_cast<std::size_t>(storage_bits(type) / 8);
  for_each_element(scores, [&](const Dims& at) {
    if (!random.one_in(3) && at[2] != 1) return;
    encode(type, std::span(&hidden, 1),
           std::span(result.memory[3]).subspan(static_cast<std::size_t>(place_of(mask, at)) * width, width));
  });
  return result;
}

std::int64_t attention_faults(const HostStep& one) {
  const View &q = one.step.inputs[0], &k = one.step.inputs[1], &v = one.step.inputs[2], &y = one.step.outputs[0];
  const auto& p = static_cast<const plan::AttentionParameters&>(*one.step.parameters);
  const std::int64_t sharing = q.dims[1] / k.dims[1];
  std::int64_t faults = 0;
  for_each_element({q.dims[0], q.dims[1], q.dims[2]}, [&](const Dims& at) {
    std::vector<double> weights;
    double most = -INFINITY, total = 0, spread = 0;
    for (std::int64_t j = 0; j < k.dims[2]; ++j) {
      double score = 0, magnitude = 0;
      for (std::int64_t d = 0; d < q.dims[3]; ++d) {
        const double term = one.real(q, place_of(q, {at[0], at[1], at[2], d})) *
                            one.real(k, place_of(k, {at[0], at[1] / sharing, j, d}));
        score += term, magnitude += std::abs(term);
      }
      score *= static_cast<double>(p.scale);
      spread = std::max(spread, magnitude);
      if (one.step.inputs.size() > 3)
        score += one.real(one.step.inputs[3], place_of(one.step.inputs[3], {at[0], at[1], at[2], j}));
      if (p.is_causal && j > at[2]) score = -INFINITY;
      weights.push_back(score);
      most = std::max(most, score);
    }
    for (double& weight : weights) total += weight = std::isinf(most) ? 0 : std::exp(weight - most);
    for (std::int64_t d = 0; d < v.dims[3]; ++d) {
      Sum sum;
      for (std::int64_t j = 0; j < k.dims[2]; ++j)
        sum.add(weights[static_cast<std::size_t>(j)] * one.real(v, place_of(v, {at[0], at[1] / sharing, j, d})));
      const double wanted = total == 0 ? 0 : sum.value / total;
      faults += !is_near(y.type, one.real(y, place_of(y, {at[0], at[1], at[2], d})), wanted,
                         total == 0 ? 0 : (4 + spread) * sum.magnitude / total, static_cast<double>(k.dims[2]));
    }
  });
  return faults;
}

}  // namespace

TEST_CASE("generated products in all types and orders, with batches and epilogues") {
  Random random(3);
  std::vector<HostStep> steps;
  struct Shape {
    Dims leading;
    std::int64_t m, n, k;
  };
  const Shape shapes[] = {{{}, 1, 1, 1},     {{}, 33, 31, 17}, {{2, 3}, 5, 40, 16}, {{}, 1, 100, 64},
                          {{4}, 64, 64, 48}, {{}, 1, 7, 300},  {{2}, 32, 32, 32},   {{}, 64, 1, 20}};
  for (const Shape& shape : shapes) {
    for (const ElementType type : reals) {
      for (const bool has_epilogue : {false, true})
        steps.push_back(random_product(random, shape.leading, shape.m, shape.n, shape.k, type, has_epilogue));
    }
    steps.push_back(random_product(random, shape.leading, shape.m, shape.n, shape.k, ElementType::int64, false));
  }
  check_steps(steps, product_faults);
}

TEST_CASE("generated products of all tile sizes") {
  Random random(4);
  std::vector<HostStep> steps;
  steps.push_back(random_product(random, {130}, 100, 60, 18, ElementType::float32, true));
  steps.push_back(random_product(random, {}, 520, 1040, 33, ElementType::float32, false));
  steps.push_back(random_product(random, {140}, 64, 64, 20, ElementType::float64, false));
  check_steps(steps, product_faults);
}

TEST_CASE("generated products of few rows or columns read the other factor along either axis") {
  Random random(5);
  std::vector<HostStep> steps;
  struct Shape {
    std::int64_t few, many, k;
  };
  const Shape shapes[] = {{1, 520, 256}, {2, 33, 40},  {4, 40, 1040}, {3, 4104, 16},
                          {1, 6, 4096},  {1, 1, 2000}, {4, 257, 31},  {2, 96, 64}};
  const auto turned = [](View view) {
    const std::size_t rank = view.rank();
    std::swap(view.dims[rank - 2], view.dims[rank - 1]);
    std::swap(view.strides[rank - 2], view.strides[rank - 1]);
    return view;
  };
  int number = 0;
  for (const Shape& shape : shapes) {
    for (const ElementType type : reals) {
      const bool is_transposed = ++number % 2 == 0, is_swapped = number % 3 == 0, has_batch = number % 5 == 0;
      const bool is_shifted = number % 7 == 0, has_epilogue = number % 4 < 2;
      const Dims leading = has_batch ? Dims{2} : Dims{};
      const auto matrix = [&](std::uint32_t buffer, std::int64_t rows, std::int64_t columns, bool turns) {
        Dims dims = leading;
        dims.insert(dims.end(), {turns ? columns : rows, turns ? rows : columns});
        const View view = HostStep::view(buffer, type, dims);
        return turns ? turned(view) : view;
      };
      const std::int64_t m = is_swapped ? shape.many : shape.few, n = is_swapped ? shape.few : shape.many;
      plan::Step step{.kind = plan::product_step};
      step.inputs = {matrix(0, m, shape.k, is_transposed && is_swapped),
                     matrix(1, shape.k, n, is_transposed && !is_swapped)};
      if (is_shifted) step.inputs[is_swapped ? 0 : 1].offset = 3;
      if (has_epilogue) step.inputs.push_back(random.view(2, type, matrix(2, m, n, false).dims, true));
      step.outputs = {matrix(3, m, n, number % 4 == 3)};
      step.parameters = product_parameters(has_epilogue, plan::lane_of(type));
      steps.emplace_back(step);
      random.fill(steps.back(), false);
    }
  }
  check_steps(steps, product_faults);
}

TEST_CASE("generated convolutions of one to three axes, in groups and depthwise") {
  Random random(8);
  std::vector<HostStep> steps;
  for (int i = 0; i < 48; ++i) {
    const auto axes = static_cast<std::size_t>(1 + i % 3);
    const std::int64_t groups = 1 + random.below(3) * (i % 2), in_channels = i % 4 == 0 ? 16 : 1 + random.below(5);
    const std::int64_t size = axes == 1 ? 30 : axes == 2 ? 6 : 3;
    const ElementType type = random.one_in(2) ? ElementType::float32 : reals[random.below(4)];
    steps.push_back(random_convolution(random, axes, groups, groups == 3 ? 1 : in_channels, 1 + random.below(6), size,
                                       type, i % 2 == 0));
  }
  check_steps(steps, convolution_faults);
}

TEST_CASE("generated depthwise convolutions with an infinite weight over padding") {
  Random random(20);
  for (const bool is_constant : {false, true}) {
    auto p = std::make_shared<plan::ConvolutionParameters>();
    p->groups = 3;
    p->strides = p->dilations = {1, 1};
    p->pads = {1, 1, 1, 1};
    constexpr std::uint32_t weights = 1;
    plan::Step step{.kind = plan::convolution_step,
                    .inputs = {HostStep::view(0, ElementType::float32, {1, 3, 5, 5}),
                               HostStep::view(weights, ElementType::float32, {3, 1, 3, 3})},
                    .outputs = {HostStep::view(2, ElementType::float32, {1, 3, 5, 5})},
                    .parameters = p};
    HostStep one(step);
    random.fill(one, false);
    const float infinite = std::numeric_limits<float>::infinity();
    std::memcpy(one.memory[weights].data(), &infinite, sizeof infinite);
    if (is_constant) one.make_constant(weights);
    HostProgram program;
    program.add(one);
    REQUIRE(program.compile() == "");
    REQUIRE(program.run(one) == "");
    // The first tap of the first channel meets padding above and on the left.
    std::int64_t faults = 0;
    for_each_element(step.outputs[0].dims, [&](const Dims& at) {
      const double y = one.real(step.outputs[0], place_of(step.outputs[0], at));
      faults += at[1] == 0 ? (at[2] == 0 || at[3] == 0 ? !std::isnan(y) : !std::isinf(y)) : !std::isfinite(y);
    });
    CHECK(faults == 0);
  }
}

TEST_CASE("generated convolutions of all tile sizes") {
  Random random(9);
  std::vector<HostStep> steps;
  steps.push_back(random_convolution(random, 2, 1, 16, 60, 95, ElementType::float32, true));
  steps.push_back(random_convolution(random, 2, 2, 3, 50, 80, ElementType::float32, false));
  check_steps(steps, convolution_faults);
}

TEST_CASE("generated attention with masks, causal, with shared keys, of any size") {
  Random random(10);
  std::vector<HostStep> steps;
  struct Shape {
    Dims q;
    std::int64_t sharing, keys, values;
  };
  const Shape shapes[] = {{{1, 2, 5, 8}, 1, 7, 8},    {{2, 4, 33, 16}, 2, 40, 16},   {{1, 1, 64, 64}, 1, 64, 64},
                          {{1, 2, 1, 32}, 2, 70, 20}, {{1, 1, 20, 130}, 1, 19, 129}, {{1, 1, 3, 900}, 1, 11, 300},
                          {{1, 1, 9, 5}, 1, 33, 1},   {{1, 2, 17, 1}, 1, 2, 3}};
  for (const Shape& shape : shapes) {
    for (const ElementType type : reals) {
      for (const bool has_mask : {false, true})
        steps.push_back(random_attention(random, shape.q, shape.sharing, shape.keys, shape.values, type, has_mask));
    }
  }
  check_steps(steps, attention_faults);
}

}  // namespace onnxkit::tests::cuda_contractions
