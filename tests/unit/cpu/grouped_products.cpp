#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/session.h"
#include "libonnxkit/plan/precision.h"

// Rows that are multiplied by the matrices that they choose, against sums in double.
namespace onnxkit::tests::cpu_grouped_products {
namespace {

using plan::Dims;
using plan::Home;
using plan::View;

Tensor tensor_of(ElementType type, const Dims& dims, std::span<const double> numbers) {
  std::vector<std::byte> bytes(numbers.size() * static_cast<std::size_t>(storage_bits(type)) / 8);
  encode(type, numbers, bytes);
  return *Tensor::from_bytes(type, dims, std::move(bytes));
}

Tensor choices_of(const Dims& dims, const std::vector<std::int64_t>& choices) {
  const auto bytes = std::as_bytes(std::span(choices));
  return *Tensor::from_bytes(ElementType::int64, dims, {bytes.begin(), bytes.end()});
}

std::vector<double> random_numbers(std::mt19937_64& engine, std::int64_t count) {
  std::normal_distribution<double> normal;
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& number : numbers) number = static_cast<double>(static_cast<float>(normal(engine)));
  return numbers;
}

/// A plan of one step, and what it is given.
struct GroupedProduct {
  std::int64_t rows, times, groups, n, k;
  bool repeats = false;  ///< the rows of a for each of their choices
  plan::Plan plan = {};
  std::vector<Value> inputs = {};

  View add(Home home, const Tensor& tensor) {
    const auto number = static_cast<std::uint32_t>(plan.buffers.size());
    const std::size_t index = home == Home::constant ? plan.constants.size() : plan.inputs.size();
    plan.buffers.push_back({.home = home, .type = tensor.type(), .bytes = tensor.bytes().size(), .index = index});
    const Dims dims(tensor.dims().begin(), tensor.dims().end());
    if (home == Home::constant) {
      plan.constants.push_back(tensor);
    } else {
      plan.inputs.push_back({.name = "x", .buffer = number, .type = tensor.type(), .dims = dims});
      inputs.emplace_back(tensor);
    }
    return {.buffer = number, .type = tensor.type(), .dims = dims, .strides = plan::row_major_strides(dims)};
  }

  /// Nothing but the output is missing: b is given as the columns of matrices, one behind the other.
  void finish(std::span<const double> a, View b, std::shared_ptr<const plan::BlockedWeights> blocks,
              const std::vector<std::int64_t>& choices) {
    View left = add(Home::input, tensor_of(ElementType::float32, {rows, repeats ? 1 : times, k}, a));
    left = plan::broadcast_to(left, Dims{rows, times, k});
    const View chosen = add(Home::input, choices_of({rows, times}, choices));
    const Dims dims = {rows, times, n};
    const View c{.buffer = static_cast<std::uint32_t>(plan.buffers.size()),
                 .type = ElementType::float32,
                 .dims = dims,
                 .strides = plan::row_major_strides(dims)};
    plan.buffers.push_back({.home = Home::output, .type = c.type, .bytes = static_cast<std::uint64_t>(c.size()) * 4});
    plan.outputs.push_back({.name = "y", .buffer = c.buffer, .type = c.type, .dims = dims});
    plan::GroupedProductParameters parameters;
    parameters.blocks = std::move(blocks);
    plan.steps.push_back({.kind = plan::grouped_product_step,
                          .inputs = {left, b, chosen},
                          .outputs = {c},
                          .parameters = std::make_shared<const plan::GroupedProductParameters>(parameters)});
  }

  Result<std::vector<double>> run() {
    cpu::Shared shared;
    shared.load.context = std::make_shared<exec::SessionContext>();
    shared.load.threads = 2;
    const exec::RunRequest request;
    const plan::PlannedRun planned{.request = request};
    auto ready = cpu::ReadyPlan::make(plan, shared, planned);
    if (!ready) return ready.error();
    auto outputs = (*ready)->run(inputs, planned);
    if (!outputs) return outputs.error();
    return to_reals((*outputs)[0].tensor);
  }

  /// How far results are from sums over b, in which element (g, c, i) is that of column c of matrix g.
  std::int64_t faults(std::span<const double> a, std::span<const double> b, const std::vector<std::int64_t>& choices,
                      const std::vector<double>& found) const {
    std::int64_t count = 0;
    for (std::int64_t row = 0; row < rows * times; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        const double* const x = a.data() + (repeats ? row / times : row) * k;
        const double* const w = b.data() + (choices[static_cast<std::size_t>(row)] * n + column) * k;
        double sum = 0, magnitude = 0;
        for (std::int64_t i = 0; i < k; ++i) sum += x[i] * w[i], magnitude += std::abs(x[i] * w[i]);
        const double most = (8 * std::sqrt(static_cast<double>(k)) * magnitude + std::abs(sum)) * 0x1p-24;
        count += !(std::abs(found[static_cast<std::size_t>(row * n + column)] - sum) <= most);
      }
    }
    return count;
  }
};

/// Those of one row follow one another, and some matrices are chosen by none.
std::vector<std::int64_t> random_choices(std::mt19937_64& engine, const GroupedProduct& product) {
  std::vector<std::int64_t> choices(static_cast<std::size_t>(product.rows * product.times));
  for (std::int64_t& choice : choices)
    choice = static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>((product.groups + 1) / 2)) * 2;
  return choices;
}

const GroupedProduct shapes[] = {{1, 1, 1, 1, 1},
                                 {.rows = 1, .times = 3, .groups = 8, .n = 40, .k = 65, .repeats = true},
                                 {7, 2, 5, 17, 33},
                                 {.rows = 150, .times = 2, .groups = 3, .n = 20, .k = 24, .repeats = true}};

}  // namespace

TEST_CASE("rows are multiplied by the matrices that they choose, whatever these are stored in") {
  std::mt19937_64 engine(5);
  for (const GroupedProduct& shape : shapes) {
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
      for (const bool is_constant : {true, false}) {
        if (!is_constant && type != ElementType::float32) continue;
        GroupedProduct product = shape;
        const auto a = random_numbers(engine, product.rows * (product.repeats ? 1 : product.times) * product.k);
        const Tensor matrices = tensor_of(type, {product.groups, product.n, product.k},
                                          random_numbers(engine, product.groups * product.n * product.k));
        const auto choices = random_choices(engine, product);
        constexpr std::int64_t swapped[] = {0, 2, 1};
        const View b = permuted(product.add(is_constant ? Home::constant : Home::input, matrices), swapped);
        product.finish(a, b, nullptr, choices);
        const auto found = product.run();
        REQUIRE(found);
        CAPTURE(name_of(type));
        CHECK(product.faults(a, to_reals(matrices), choices, *found) == 0);
      }
    }
  }
}

TEST_CASE("rows are multiplied by matrices of numbers in blocks, one matrix behind the other") {
  std::mt19937_64 engine(6);
  for (const std::int64_t bits : {4, 8}) {
    GroupedProduct product{.rows = 9, .times = 2, .groups = 3, .n = 10, .k = 32, .repeats = true};
    const std::int64_t columns = product.groups * product.n;
    auto blocks = std::make_shared<plan::BlockedWeights>();
    blocks->n = columns, blocks->k = product.k, blocks->bits = bits, blocks->size = 16, blocks->zero = 3;
    blocks->number_strides = {.column = product.k, .row = 1};
    blocks->scale_strides = {.column = 2, .row = 1};
    blocks->scales = tensor_of(ElementType::float32, {columns * 2}, random_numbers(engine, columns * 2));
    std::vector<std::byte> numbers(static_cast<std::size_t>(columns * product.k * bits / 8));
    for (std::byte& byte : numbers) byte = static_cast<std::byte>(engine());
    std::vector<float> reals(static_cast<std::size_t>(columns * product.k));
    unpack(*blocks, numbers, reals);
    const auto a = random_numbers(engine, product.rows * product.k);
    const auto choices = random_choices(engine, product);
    const auto count = static_cast<std::int64_t>(numbers.size());
    const View b = product.add(Home::constant, *Tensor::from_bytes(ElementType::uint8, {count}, std::move(numbers)));
    product.finish(a, b, blocks, choices);
    const auto found = product.run();
    REQUIRE(found);
    CHECK(product.faults(a, std::vector<double>(reals.begin(), reals.end()), choices, *found) == 0);
  }
}

TEST_CASE("a row that chooses a matrix that is not there ends the run") {
  for (const std::int64_t choice : {-1, 2}) {
    GroupedProduct product{.rows = 1, .times = 2, .groups = 2, .n = 3, .k = 4, .repeats = true};
    const std::vector<double> a(4, 1), b(2 * 3 * 4, 1);
    constexpr std::int64_t swapped[] = {0, 2, 1};
    const View matrices = permuted(product.add(Home::constant, tensor_of(ElementType::float32, {2, 3, 4}, b)), swapped);
    product.finish(a, matrices, nullptr, {0, choice});
    const auto found = product.run();
    REQUIRE_FALSE(found);
    CHECK(found.error().diagnostic.message == "a row chooses a matrix that is not there");
  }
}

}  // namespace onnxkit::tests::cpu_grouped_products
