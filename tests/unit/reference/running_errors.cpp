// Errors of noisy runs in operators that go on from what they have rounded: running totals, and states of linear attention.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/exec/perturbed.h"
#include "onnxkit/model.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::running_errors {
namespace {

constexpr double rounding = 0x1p-24 / 1.7320508;  ///< the deviation of one of float32

std::vector<float> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(bits);
  return numbers;
}

std::vector<exec::Spread> spreads(const std::string& body, const std::vector<Tensor>& inputs, int threads) {
  const auto model = std::make_shared<const Model>(
      parse_model("<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n" + body));
  const auto session = all_backends().make_perturbed()->load({.model = {model, &model->ir()}}, {.threads = threads});
  REQUIRE(session);
  exec::RunRequest request;
  for (std::size_t i = 0; i < inputs.size(); ++i) request.inputs.push_back({(*session)->inputs()[i].name, inputs[i]});
  exec::PerturbedOptions options;
  options.samples = 16;
  auto outputs = (*session)->perturbed()->run(request, options);
  REQUIRE(outputs);
  return *std::move(outputs);
}

/// Root mean square of the errors of elements [first, first + count) over all samples.
double size_of_errors(const exec::Spread& spread, std::size_t first, std::size_t count) {
  const std::vector<double> exact = to_reals(spread.exact.tensor);
  double squares = 0;
  for (const Value& sample : spread.samples) {
    const std::vector<double> noisy = to_reals(sample.tensor);
    for (std::size_t i = first; i < first + count; ++i) squares += (noisy[i] - exact[i]) * (noisy[i] - exact[i]);
  }
  return std::sqrt(squares / static_cast<double>(count * spread.samples.size()));
}

void check_size(double found, double wanted) {
  CHECK(found > 0.6 * wanted);
  CHECK(found < 1.8 * wanted);
}

}  // namespace

TEST_CASE("errors of running totals grow along any axis, and are those of the totals that were rounded") {
  constexpr std::size_t rows = 400, columns = 8;
  const std::vector<float> x = random_numbers(rows * columns, 1);
  std::vector<double> totals(columns, 0);
  double squares = 0;  // of the totals, the mean of all columns
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      totals[column] += static_cast<double>(x[row * columns + column]);
      squares += totals[column] * totals[column] / columns;
    }
  }
  const std::string body = "g (float[400, 8] x) => (float[400, 8] y) <int64 axis = {0}> { y = CumSum (x, axis) }";
  const auto one = spreads(body, {floats({rows, columns}, x)}, 1), two = spreads(body, {floats({rows, columns}, x)}, 2);
  check_size(size_of_errors(one[0], (rows - 1) * columns, columns), rounding * std::sqrt(squares));
  CHECK(size_of_errors(one[0], columns, columns) < rounding * std::sqrt(squares) / 4);
  for (std::size_t i = 0; i < one[0].samples.size(); ++i)
    CHECK(same_content(one[0].samples[i].tensor, two[0].samples[i].tensor));
}

TEST_CASE("errors of scattered sums and products are those of as many terms as an element takes in") {
  constexpr std::size_t rows = 300, columns = 8;
  const std::vector<float> updates = random_numbers(rows * columns, 5);
  std::vector<float> factors(rows * columns);  // near 1
  double sums = 0, terms = 0, products = 0;    // mean squares
  for (std::size_t column = 0; column < columns; ++column) {
    double sum = 0, product = 1;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t at = row * columns + column;
      factors[at] = 1 + updates[at] / 100;
      const auto term = static_cast<double>(updates[at]);
      sum += term, terms += term * term / columns, product *= static_cast<double>(factors[at]);
    }
    sums += sum * sum / columns, products += product * product / columns;
  }
  const std::vector<float> nothing(columns, 0.0F), ones(columns, 1.0F);
  const auto found = spreads(
      "g (float[1, 8] x, float[300, 8] u, float[1, 8] one, float[300, 8] f) => (float[1, 8] y, float[1, 8] z)"
      "<int64[2] sizes = {300, 8}, int64[2] tuples = {300, 1}> {"
      " at = ConstantOfShape <value = int64[1] {0}> (sizes)"
      " y = ScatterElements <axis = 0, reduction = \"add\"> (x, at, u)"
      " rows = ConstantOfShape <value = int64[1] {0}> (tuples)"
      " z = ScatterND <reduction = \"mul\"> (one, rows, f) }",
      {floats({1, columns}, nothing), floats({rows, columns}, updates), floats({1, columns}, ones),
       floats({rows, columns}, factors)},
      1);
  check_size(size_of_errors(found[0], 0, columns), rounding * std::sqrt(rows / 3.0 * sums + rows / 6.0 * terms));
  check_size(size_of_errors(found[1], 0, columns), rounding * std::sqrt(rows * products));
}

TEST_CASE("errors of Fourier transforms are those of sums over the signal, whatever its axis") {
  constexpr std::size_t length = 512;
  const std::vector<float> signal = random_numbers(length, 6);
  double energy = 0;
  for (const float number : signal) energy += static_cast<double>(number) * static_cast<double>(number);
  const auto found =
      spreads("g (float[1, 512, 1] x) => (float[1, 512, 2] y) { y = DFT (x) }", {floats({1, length, 1}, signal)}, 1);
  // Of random numbers the mean square of a part is half of the energy.
  check_size(size_of_errors(found[0], 0, 2 * length),
             rounding * std::sqrt(length / 3.0 * energy / 2 + length / 6.0 * energy / 2));
}

TEST_CASE("running totals of whole numbers have no errors") {
  std::vector<float> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  const auto found = spreads("g (float[8, 8] x) => (float[8, 8] y) <int64 axis = {0}> { y = CumSum (x, axis) }",
                             {floats({8, 8}, x)}, 1);
  CHECK(size_of_errors(found[0], 0, 64) == 0);
}

TEST_CASE("errors of linear attention are those of the sums over its keys, and of the states between points in time") {
  constexpr std::size_t keys = 64, values = 32, time = 20;
  // Nothing is written: queries read the first state.
  const std::vector<float> q = random_numbers(time * keys, 2), state = random_numbers(keys * values, 3);
  const auto found = spreads(
      "g (float[1, 20, 64] q, float[1, 20, 64] k, float[1, 20, 32] v, float[1, 1, 64, 32] s) => (float[1, 20, 32] y, "
      "float[1, 1, 64, 32] last) {"
      " y, last = com.microsoft.LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = \"linear\", scale = "
      "1.0> (q, k, v, s) }",
      {floats({1, time, keys}, q), floats({1, time, keys}, std::vector<float>(time * keys, 0.0F)),
       floats({1, time, values}, random_numbers(time * values, 4)), floats({1, 1, keys, values}, state)},
      1);
  double sums = 0, terms = 0;  // mean squares of the first results
  for (std::size_t j = 0; j < values; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < keys; ++i) {
      const double term = static_cast<double>(q[i]) * static_cast<double>(state[i * values + j]);
      sum += term, terms += term * term / values;
    }
    sums += sum * sum / values;
  }
  check_size(size_of_errors(found[0], 0, values), rounding * std::sqrt(keys / 3.0 * sums + keys / 6.0 * terms));
  double squares = 0;
  for (const float number : state)
    squares += static_cast<double>(number) * static_cast<double>(number) / (keys * values);
  check_size(size_of_errors(found[1], 0, keys * values), rounding * std::sqrt(time * squares));
}

}  // namespace onnxkit::tests::running_errors
