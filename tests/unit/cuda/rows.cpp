#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tests/unit/cuda/random_steps.h"

// Reductions, softmax, normalizations and pools against sums in double.
namespace onnxkit::tests::cuda_rows {
namespace {

using plan::Dims;
using plan::View;

constexpr ElementType reals[] = {ElementType::float32, ElementType::float64, ElementType::float16,
                                 ElementType::bfloat16};

/// `units` of the last place, or what that many are of `magnitude`.
bool is_near(ElementType type, double found, double wanted, double units, double magnitude = 0) {
  if (std::isnan(wanted)) return std::isnan(found);
  if (found == wanted) return true;
  const double unit = type == ElementType::float64   ? 0x1p-53
                      : type == ElementType::float32 ? 0x1p-24
                      : type == ElementType::float16 ? 0x1p-11
                                                     : 0x1p-8;
  const double in_sums = type == ElementType::float64 ? 0x1p-53 : 0x1p-24;
  return std::abs(found - wanted) <= 2 * unit * std::abs(wanted) +
                                         units * in_sums * std::max(magnitude, std::abs(wanted)) +
                                         (type == ElementType::float16 ? 0x1p-25 : 0x1p-148);
}

std::int64_t reduce_faults(const HostStep& one) {
  const View &from = one.step.inputs[0], &to = one.step.outputs[0];
  const auto reduction = static_cast<const plan::ReduceParameters&>(*one.step.parameters).reduction;
  const Dims gone(from.dims.begin() + static_cast<std::ptrdiff_t>(to.rank()), from.dims.end());
  std::int64_t faults = 0;
  for_each_element(to.dims, [&](const Dims& kept) {
    long double sum = 0, product = 1;
    double magnitude = 0, most = -INFINITY, least = INFINITY;
    for_each_element(gone, [&](const Dims& rest) {
      Dims at = kept;
      at.insert(at.end(), rest.begin(), rest.end());
      const double x = one.real(from, place_of(from, at));
      sum += x, product *= x, magnitude += std::abs(x);
      most = std::max(most, x), least = std::min(least, x);
    });
    const auto count = static_cast<double>(plan::element_count(gone));
    const double wanted = reduction == plan::Reduction::sum       ? static_cast<double>(sum)
                          : reduction == plan::Reduction::mean    ? static_cast<double>(sum) / count
                          : reduction == plan::Reduction::maximum ? most
                          : reduction == plan::Reduction::product ? static_cast<double>(product)
                                                                  : least;
    if (reduction == plan::Reduction::mean) magnitude /= count;
    if (from.type != ElementType::float64 || reduction == plan::Reduction::product)
      magnitude = 0;  // the sums are doubles
    faults += !is_near(to.type, one.real(to, place_of(to, kept)), wanted,
                       reduction == plan::Reduction::product ? count : std::sqrt(count), magnitude);
  });
  return faults;
}

std::int64_t softmax_faults(const HostStep& one) {
  const View &from = one.step.inputs[0], &to = one.step.outputs[0];
  const bool is_log = static_cast<const plan::SoftmaxParameters&>(*one.step.parameters).is_log;
  const std::int64_t columns = from.dims.back();
  std::int64_t faults = 0;
  for (std::int64_t row = 0; row < from.size() / columns; ++row) {
    double most = -INFINITY, sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) most = std::max(most, one.real(from, row * columns + i));
    for (std::int64_t i = 0; i < columns; ++i) sum += std::exp(one.real(from, row * columns + i) - most);
    for (std::int64_t i = 0; i < columns; ++i) {
      const double x = one.real(from, row * columns + i) - most;
      const double wanted = is_log ? x - std::log(sum) : std::exp(x) / sum;
      faults += !is_near(to.type, one.real(to, row * columns + i), wanted, 8 + std::abs(x) + std::sqrt(columns),
                         std::log(sum) * is_log);
    }
  }
  return faults;
}

std::int64_t normalize_faults(const HostStep& one) {
  const View &from = one.step.inputs[0], &to = one.step.outputs[0];
  const auto& parameters = static_cast<const plan::NormalizeParameters&>(*one.step.parameters);
  const std::int64_t rows = from.dims[0], columns = from.dims[1];
  std::int64_t faults = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto x = [&](std::int64_t i) { return one.real(from, row * columns + i); };
    long double mean = 0, squares = 0;
    for (std::int64_t i = 0; i < columns; ++i) mean += static_cast<long double>(x(i)) / columns;
    if (!parameters.centers) mean = 0;
    for (std::int64_t i = 0; i < columns; ++i) squares += (x(i) - mean) * (x(i) - mean);
    const auto deviation = std::sqrt(squares / columns + static_cast<long double>(parameters.epsilon));
    for (std::int64_t i = 0; i < columns; ++i) {
      auto wanted = static_cast<double>((x(i) - mean) / deviation);
      if (one.step.inputs.size() > 1) wanted *= one.real(one.step.inputs[1], i);
      const double magnitude =
          std::abs(wanted) + static_cast<double>(std::abs(mean) / deviation) * (from.type == ElementType::float64);
      if (one.step.inputs.size() > 2) wanted += one.real(one.step.inputs[2], i);
      faults += !is_near(to.type, one.real(to, row * columns + i), wanted,
                         4 + std::sqrt(columns) * (from.type == ElementType::float64), magnitude);
    }
  }
  return faults;
}

}  // namespace

namespace {

std::int64_t pool_faults(const HostStep& one) {
  const View &from = one.step.inputs[0], &to = one.step.outputs[0];
  const auto& p = static_cast<const plan::PoolParameters&>(*one.step.parameters);
  const std::size_t axes = p.kernel.size();
  std::int64_t faults = 0;
  for_each_element(to.dims, [&](const Dims& at) {
    double most = -INFINITY, sum = 0;
    std::int64_t counted = 0;
    for_each_element(p.kernel, [&](const Dims& tap) {
      Dims place = at;
      bool is_inside = true, is_padded = true;
      for (std::size_t i = 0; i < axes; ++i) {
        place[i + 2] = at[i + 2] * p.strides[i] - p.pads[i] + tap[i] * p.dilations[i];
        is_inside = is_inside && place[i + 2] >= 0 && place[i + 2] < from.dims[i + 2];
        is_padded = is_padded && place[i + 2] < from.dims[i + 2] + p.pads[axes + i];
      }
      counted += p.counts_padding ? is_padded : is_inside;
      if (!is_inside) return;
      const double x = one.real(from, place_of(from, place));
      most = std::max(most, x), sum += x;
    });
    const double wanted = p.is_maximum ? most : sum / static_cast<double>(std::max<decltype(counted)>(counted, 1));
    faults += !is_near(to.type, one.real(to, place_of(to, at)), wanted, 16, 1);
  });
  return faults;
}

}  // namespace

TEST_CASE("generated pools of one to three axes") {
  Random random(7);
  std::vector<HostStep> steps;
  for (int i = 0; i < 60; ++i) {
    const auto axes = static_cast<std::size_t>(1 + random.below(3));
    auto p = std::make_shared<plan::PoolParameters>();
    p->is_maximum = random.one_in(2);
    p->counts_padding = random.one_in(2);
    Dims in = {1 + random.below(2), 1 + random.below(5)}, out = in;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      p->kernel.push_back(1 + random.below(3));
      p->strides.push_back(1 + random.below(3));
      p->dilations.push_back(1 + random.below(2));
      p->pads.push_back(random.below(2));
      in.push_back(3 + random.below(6));
    }
    for (std::size_t axis = 0; axis < axes; ++axis) {
      p->pads.push_back(random.below(2));
      const std::int64_t span = (p->kernel[axis] - 1) * p->dilations[axis] + 1;
      out.push_back(std::max<std::int64_t>(
          1, (in[axis + 2] + p->pads[axis] + p->pads[axes + axis] - span) / p->strides[axis] + 1));
    }
    const ElementType type = reals[random.below(4)];
    steps.emplace_back(plan::Step{.kind = plan::pool_step,
                                  .inputs = {random.view(0, type, in, false)},
                                  .outputs = {random.view(1, type, out, false)},
                                  .parameters = p});
    random.fill(steps.back(), false);
  }
  check_steps(steps, pool_faults);
}

TEST_CASE("generated softmax and normalizations of rows of any length") {
  Random random(6);
  std::vector<HostStep> softmax, normalize;
  for (const std::int64_t columns : {1, 2, 5, 31, 32, 33, 100, 256, 300, 1000, 5000, 9001}) {
    for (const ElementType type : reals) {
      const std::int64_t rows = columns < 400 ? 7 : 2;
      auto logs = std::make_shared<plan::SoftmaxParameters>();
      logs->is_log = random.one_in(2);
      softmax.emplace_back(plan::Step{.kind = plan::softmax_step,
                                      .inputs = {HostStep::view(0, type, {rows, columns})},
                                      .outputs = {HostStep::view(1, type, {rows, columns})},
                                      .parameters = logs});
      random.fill(softmax.back(), false);
      auto parameters = std::make_shared<plan::NormalizeParameters>();
      parameters->centers = random.one_in(2);
      plan::Step step{.kind = plan::normalize_step,
                      .inputs = {HostStep::view(0, type, {rows, columns})},
                      .outputs = {HostStep::view(1, type, {rows, columns})},
                      .parameters = parameters};
      for (std::uint32_t i = 0; i < random.below(3); ++i) step.inputs.push_back(HostStep::view(2 + i, type, {columns}));
      normalize.emplace_back(step);
      random.fill(normalize.back(), false);
    }
  }
  check_steps(softmax, softmax_faults);
  check_steps(normalize, normalize_faults);
}

TEST_CASE("generated reductions over rows, columns and any axes") {
  Random random(5);
  std::vector<HostStep> steps;
  struct Shape {
    Dims kept, gone;
  };
  const Shape shapes[] = {{{5}, {37}},       {{3, 40}, {20}},  {{}, {3000}}, {{7}, {3, 4, 5}}, {{300}, {2}},
                          {{2, 3}, {65, 2}}, {{70, 4}, {130}}, {{3}, {1}},   {{}, {}},         {{2, 80}, {9, 3}}};
  for (const Shape& shape : shapes) {
    for (const auto reduction : {plan::Reduction::sum, plan::Reduction::mean, plan::Reduction::maximum,
                                 plan::Reduction::minimum, plan::Reduction::product}) {
      for (const ElementType type :
           {ElementType::float32, ElementType::float64, ElementType::bfloat16, ElementType::int64}) {
        const bool is_exact = reduction != plan::Reduction::mean && reduction != plan::Reduction::product;
        if (type == ElementType::int64 && !is_exact) continue;
        if (reduction == plan::Reduction::product && plan::element_count(shape.gone) > 100) continue;
        Dims dims = shape.kept;
        dims.insert(dims.end(), shape.gone.begin(), shape.gone.end());
        auto parameters = std::make_shared<plan::ReduceParameters>();
        parameters->reduction = reduction;
        plan::Step step{.kind = plan::reduce_step,
                        .inputs = {random.view(0, type, dims, true)},
                        .outputs = {random.view(1, type, shape.kept, false)},
                        .parameters = parameters};
        steps.emplace_back(step);
        random.fill(steps.back(), false);
      }
    }
  }
  check_steps(steps, reduce_faults);
}

namespace {

/// Of a scatter.
std::span<std::int64_t> positions_of(HostStep& one) {
  std::vector<std::byte>& memory = one.memory[one.step.inputs[1].buffer];
  return {reinterpret_cast<std::int64_t*>(memory.data()), memory.size() / sizeof(std::int64_t)};
}

std::int64_t scatter_faults(const HostStep& one) {
  const View &data = one.step.inputs[0], &positions = one.step.inputs[1], &updates = one.step.inputs[2];
  const auto combination = static_cast<const plan::ScatterParameters&>(*one.step.parameters).combination;
  const std::int64_t size = data.dims[0], inner = data.dims[1];
  std::vector<double> wanted, magnitude;
  for (std::int64_t i = 0; i < size * inner; ++i)
    wanted.push_back(one.real(data, i)), magnitude.push_back(std::abs(wanted.back()));
  for (std::int64_t i = 0; i < positions.dims[0]; ++i) {
    auto at = static_cast<std::int64_t>(one.real(positions, i));
    if (at < 0) at += size;
    for (std::int64_t j = 0; j < inner && at >= 0 && at < size; ++j) {
      double& old = wanted[static_cast<std::size_t>(at * inner + j)];
      const double update = one.real(updates, i * inner + j);
      magnitude[static_cast<std::size_t>(at * inner + j)] += std::abs(update);
      old = combination == plan::Combination::replace    ? update
            : combination == plan::Combination::add      ? old + update
            : combination == plan::Combination::multiply ? old * update
            : combination == plan::Combination::maximum  ? std::max(old, update)
                                                         : std::min(old, update);
    }
  }
  std::int64_t faults = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    faults += !is_near(data.type, one.real(one.step.outputs[0], static_cast<std::int64_t>(i)), wanted[i], 8,
                       combination == plan::Combination::add ? magnitude[i] : 0);
  return faults;
}

std::int64_t top_k_faults(const HostStep& one) {
  const View& from = one.step.inputs[0];
  const bool is_largest = static_cast<const plan::TopKParameters&>(*one.step.parameters).is_largest;
  const std::int64_t n = from.dims.back(), k = one.step.outputs[0].dims.back();
  std::int64_t faults = 0;
  for (std::int64_t row = 0; row < from.size() / n; ++row) {
    const auto key = [&](std::int64_t i) {
      const double x = one.real(from, row * n + i);
      return std::isnan(x) ? std::pair(1, 0.0) : std::pair(0, x);
    };
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return is_largest ? key(b) < key(a) : key(a) < key(b); });
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t place = order[static_cast<std::size_t>(i)];
      faults += one.real(one.step.outputs[1], row * k + i) != static_cast<double>(place);
      faults += !is_near(from.type, one.real(one.step.outputs[0], row * k + i), one.real(from, row * n + place), 0);
    }
  }
  return faults;
}

}  // namespace

TEST_CASE("generated scatters take updates in their order, and top-k keeps the order of equal elements") {
  Random random(11);
  std::vector<HostStep> scatters, top;
  for (int i = 0; i < 40; ++i) {
    const ElementType type = i % 2 == 0 ? ElementType::float32 : i % 4 == 1 ? ElementType::float64 : ElementType::int64;
    auto scatter = std::make_shared<plan::ScatterParameters>();
    scatter->combination = static_cast<plan::Combination>(random.below(5));
    const std::int64_t size = 5 + random.below(20), inner = 1 + random.below(4), count = 1 + random.below(9);
    scatters.emplace_back(
        plan::Step{.kind = plan::scatter_step,
                   .inputs = {HostStep::view(0, type, {size, inner}), HostStep::view(1, ElementType::int64, {count}),
                              HostStep::view(2, type, {count, inner})},
                   .outputs = {HostStep::view(3, type, {size, inner})},
                   .parameters = scatter});
    random.fill(scatters.back(), false);
    for (std::int64_t& position : positions_of(scatters.back())) position %= size;
    auto parameters = std::make_shared<plan::TopKParameters>();
    parameters->is_largest = random.one_in(2);
    constexpr ElementType numbers[] = {ElementType::float32, ElementType::float64, ElementType::int64,
                                       ElementType::float16, ElementType::bfloat16};
    const ElementType ordered = numbers[i % std::size(numbers)];
    const std::int64_t n = 1 + random.below(40), k = 1 + random.below(n);
    top.emplace_back(
        plan::Step{.kind = plan::top_k_step,
                   .inputs = {HostStep::view(0, ordered, {3, n})},
                   .outputs = {HostStep::view(1, ordered, {3, k}), HostStep::view(2, ElementType::int64, {3, k})},
                   .parameters = parameters});
    random.fill(top.back(), ordered != ElementType::int64);
  }
  check_steps(scatters, scatter_faults);
  check_steps(top, top_k_faults);
}

TEST_CASE("generated scatters tell of positions outside the axis") {
  constexpr std::int64_t size = 5;
  HostStep one(plan::Step{
      .kind = plan::scatter_step,
      .inputs = {HostStep::view(0, ElementType::float32, {size, 2}), HostStep::view(1, ElementType::int64, {3}),
                 HostStep::view(2, ElementType::float32, {3, 2})},
      .outputs = {HostStep::view(3, ElementType::float32, {size, 2})},
      .parameters = std::make_shared<plan::ScatterParameters>()});
  REQUIRE(one.error == "");
  HostProgram program;
  program.add(one);
  REQUIRE(program.compile() == "");
  for (const std::int64_t position : {-size, size - 1}) {
    positions_of(one)[1] = position;
    CHECK(program.run(one) == "");
  }
  for (const std::int64_t position : {-size - 1, size}) {
    positions_of(one)[1] = position;
    CHECK(program.run(one) == "a kernel found a fault");
  }
}

TEST_CASE("rows and positions that 31 bits do not count are refused") {
  constexpr std::int64_t many = std::int64_t{1} << 31;
  plan::Plan plan;
  plan.buffers.resize(4);
  const auto refusal = [&plan](const plan::Step& step) {
    const auto written = cuda::step_registry().find(step.kind)(step, {.plan = plan});
    return written ? std::string() : written.error().diagnostic.message;
  };
  for (const std::int64_t columns : {many, many - 4096}) {
    const View from = HostStep::view(0, ElementType::float16, {1, columns}),
               to = HostStep::view(1, ElementType::float16, {1, columns});
    const std::string wanted = columns == many ? "rows of more than 31 bits" : "";
    CHECK(refusal({.kind = plan::softmax_step,
                   .inputs = {from},
                   .outputs = {to},
                   .parameters = std::make_shared<plan::SoftmaxParameters>()}) == wanted);
    CHECK(refusal({.kind = plan::normalize_step,
                   .inputs = {from},
                   .outputs = {to},
                   .parameters = std::make_shared<plan::NormalizeParameters>()}) == wanted);
  }
  CHECK(refusal(
            {.kind = plan::scatter_step,
             .inputs = {HostStep::view(0, ElementType::float32, {2, 2}), HostStep::view(1, ElementType::int64, {many}),
                        HostStep::view(2, ElementType::float32, {many, 2})},
             .outputs = {HostStep::view(3, ElementType::float32, {2, 2})},
             .parameters = std::make_shared<plan::ScatterParameters>()}) ==
        "a kernel whose threads make 2147483648 comparisons of positions each, more than 1048576");
}

}  // namespace onnxkit::tests::cuda_rows
