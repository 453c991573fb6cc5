// Perturbed runs in lockstep with the exact one (libonnxkit/exec/perturbed.h).
#include "libonnxkit/exec/perturbed.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "libonnxkit/backends/backends.h"
#include "onnxkit/model.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::reference_perturbed {

using exec::PerturbedOptions;
using exec::Spread;

namespace {

Model parse(const std::string& body) {
  return parse_model("<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.ml\" : 1, \"com.microsoft\" : 1]>\n" + body);
}

/// Of full precision, seeded.
Tensor random(const std::vector<std::int64_t>& dims, unsigned seed = 1) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(bits);
  return floats(dims, values);
}

struct Runner {
  explicit Runner(const std::string& body)
      : model(std::make_shared<const Model>(parse(body))), backend(all_backends().make_perturbed()) {
    REQUIRE(backend);
  }

  std::unique_ptr<exec::Session> session(const exec::LoadOptions& options = {}) const {
    auto made = backend->load({.model = {model, &model->ir()}}, options);
    REQUIRE(made);
    return *std::move(made);
  }

  static exec::RunRequest request(const exec::Session& session, const std::vector<Value>& inputs) {
    exec::RunRequest made;
    for (std::size_t i = 0; i < inputs.size(); ++i) made.inputs.push_back({session.inputs()[i].name, inputs[i]});
    return made;
  }

  std::vector<Spread> spreads(const std::vector<Value>& inputs, const PerturbedOptions& options = {},
                              int threads = 0) const {
    const auto run = session({.threads = threads});
    auto outputs = run->perturbed()->run(request(*run, inputs), options);
    REQUIRE(outputs);
    return *std::move(outputs);
  }

  Tensor wide(const std::vector<Value>& inputs) const {
    const auto run = session({.math = exec::MathMode::unrounded});
    auto answer = run->run(request(*run, inputs));
    REQUIRE(answer);
    return answer->outputs[0].value.tensor;
  }

  std::shared_ptr<const Model> model;
  std::unique_ptr<exec::Backend> backend;
};

/// Whether any sample differs from the exact answer.
bool is_noisy(const Spread& spread) {
  return std::any_of(spread.samples.begin(), spread.samples.end(),
                     [&](const Value& sample) { return !same_content(sample.tensor, spread.exact.tensor); });
}

double greatest_error(const Spread& spread) {
  const std::vector<double> exact = to_reals(spread.exact.tensor);
  double most = 0;
  for (const Value& sample : spread.samples) {
    const std::vector<double> noisy = to_reals(sample.tensor);
    for (std::size_t i = 0; i < exact.size(); ++i) most = std::max(most, std::abs(noisy[i] - exact[i]));
  }
  return most;
}

/// Of the errors of all samples.
double sum_of_squares(const Spread& spread) {
  const std::vector<double> exact = to_reals(spread.exact.tensor);
  double sum = 0;
  for (const Value& sample : spread.samples) {
    const std::vector<double> noisy = to_reals(sample.tensor);
    sum += xt::sum(xt::square(xt::adapt(noisy) - xt::adapt(exact)))();
  }
  return sum;
}

bool is_noisy(const std::string& body, const std::vector<Value>& inputs, Profile profile = Profile::float32) {
  PerturbedOptions options;
  options.profile = profile;
  return is_noisy(Runner(body).spreads(inputs, options)[0]);
}

const std::string network =
    "g (float[8, 32] x, float[32, 16] w) => (float[8, 16] y) { h = MatMul (x, w) r = Relu (h) s = Softmax (r) "
    "t = Exp (s) y = Add (t, h) }";

}  // namespace

TEST_CASE("perturbed samples: the exact run is the wide run bit for bit") {
  const Runner runner(network);
  const std::vector<Value> inputs = {random({8, 32}), random({32, 16}, 2)};
  const Spread spread = runner.spreads(inputs)[0];
  CHECK(spread.exact.tensor.type() == ElementType::float64);
  CHECK(same_content(spread.exact.tensor, runner.wide(inputs)));
  CHECK(spread.samples.size() == 4);
  CHECK(is_noisy(spread));
}

TEST_CASE("perturbed samples: equal seeds give equal samples on any number of threads, others other ones") {
  const Runner runner("g (float[64, 256] x, float[256, 96] w) => (float[64, 96] y) { h = MatMul (x, w) y = Tanh (h) }");
  const std::vector<Value> inputs = {random({64, 256}), random({256, 96}, 2)};
  for (const Profile profile : {Profile::float32, Profile::tf32, Profile::bfloat16}) {
    PerturbedOptions one, two, other;
    one.profile = two.profile = other.profile = profile;
    other.noise_seed = 1;
    const Spread a = runner.spreads(inputs, one, 1)[0], b = runner.spreads(inputs, two, 2)[0],
                 c = runner.spreads(inputs, other, 1)[0];
    for (std::size_t i = 0; i < a.samples.size(); ++i) {
      CHECK(same_content(a.samples[i].tensor, b.samples[i].tensor));
      CHECK_FALSE(same_content(a.samples[i].tensor, c.samples[i].tensor));
      for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(same_content(a.samples[i].tensor, a.samples[j].tensor));
    }
  }
}

TEST_CASE("perturbed samples: what is exact gets no noise") {
  const Tensor whole = floats({4}, {1, 2, -3, 4}), halves = floats({4}, {0.5F, 1.25F, 8, -2});
  CHECK_FALSE(is_noisy("g (float[4] a, float[4] b) => (float[4] y) { y = Add (a, b) }", {whole, halves}));
  CHECK_FALSE(is_noisy("g (float[4] a, float[4] b) => (float[4] y) { y = Mul (a, b) }", {whole, halves}));
  CHECK_FALSE(is_noisy("g (float[2, 2] a, float[2, 2] b) => (float[2, 2] y) { y = MatMul (a, b) }",
                       {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {0.5F, 4, 7, -2})}));
  CHECK_FALSE(is_noisy("g (float[4] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }", {whole}));
  CHECK_FALSE(is_noisy("g (float[4] x) => (int64[4] y) { y = Cast <to = 7> (x) }", {whole}, Profile::bfloat16));
  const std::vector<std::int64_t> numbers = {1, 2, 3};
  const auto bytes = std::as_bytes(std::span(numbers));
  const Tensor integers = *Tensor::from_bytes(ElementType::int64, {3}, {bytes.begin(), bytes.end()});
  CHECK_FALSE(is_noisy("g (int64[3] x) => (int64[3] y) { y = Mul (x, x) }", {integers}, Profile::bfloat16));
}

TEST_CASE("perturbed samples: constants of the model are what they are, however they are written") {
  for (const std::string constant : {"value_floats = [0.7, 0.1]", "value = float[2] {0.7, 0.1}"})
    CHECK_FALSE(is_noisy("g () => (float[2] y) { y = Constant <" + constant + "> () }", {}, Profile::bfloat16));
}

TEST_CASE("perturbed samples: what is computed from constants is the same in every run, rounded as its type says") {
  const std::string values =
      "k = Constant <value_floats = [72.0, 0.7]> () r = Reciprocal (k) m = Mul (r, k) f = Floor (m) ";
  CHECK_FALSE(is_noisy("g () => (float[2] y) { " + values + "y = Add (m, f) }", {}, Profile::bfloat16));
  CHECK_FALSE(is_noisy("g () => (float[2] y) <float[2] w = {0.7, 0.1}> { e = Exp (w) y = Mul (e, w) }", {}));
  CHECK_FALSE(
      is_noisy("g () => (float[1, 1] y) <float[1, 2] a = {0.7, 0.1}, float[2, 1] b = {0.3, 0.9}> "
               "{ p = MatMul (a, b) y = Sigmoid (p) }",
               {}, Profile::bfloat16));
  // What an input takes part in has noise, and so do random numbers.
  CHECK(is_noisy("g (float[2] x) => (float[2] y) { " + values + "y = Mul (r, x) }", {random({2})}));
  const Runner runner("g () => (float[1] y) <float[1] a = {10}, float[1] b = {3}> { q = Div (a, b) y = Mul (q, b) }");
  CHECK(to_reals(runner.spreads({})[0].exact.tensor) == std::vector<double>{10.0F / 3.0F * 3.0F});
}

TEST_CASE("perturbed samples: moving and picking numbers adds no noise") {
  const Tensor x = random({2, 3, 4, 4});
  const auto moved = [&](const std::string& nodes) {
    return is_noisy("g (float[2, 3, 4, 4] x) => (float[N, C, H, W] y) { " + nodes + " }", {x});
  };
  CHECK_FALSE(moved("y = Transpose <perm = [0, 2, 3, 1]> (x)"));
  CHECK_FALSE(moved("y = Concat <axis = 1> (x, x)"));
  CHECK_FALSE(moved("s = Constant <value_ints = [3, 2, 4, 4]> () y = Reshape (x, s)"));
  CHECK_FALSE(moved("i = Constant <value_ints = [1, 0]> () y = Gather <axis = 0> (x, i)"));
  CHECK_FALSE(moved("p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () y = Pad (x, p)"));
  CHECK_FALSE(moved("y = MaxPool <kernel_shape = [2, 2]> (x)"));
  CHECK_FALSE(moved("y = Relu (x)"));
  CHECK_FALSE(moved("y = Neg (x)"));
  CHECK_FALSE(moved("y = Abs (x)"));
  CHECK_FALSE(moved("y = Identity (x)"));
  CHECK(moved("y = Mul (x, x)"));
  // Noise that a number has is passed on, and not added to.
  const Spread spread = Runner(
                            "g (float[2, 3, 4, 4] x) => (float[2, 3, 4, 4] a, float[2, 4, 4, 3] b) { a = Exp (x) "
                            "b = Transpose <perm = [0, 2, 3, 1]> (a) }")
                            .spreads({x})[0];
  CHECK(is_noisy(spread));
}

TEST_CASE("perturbed samples: a transposed value keeps the noise that it has") {
  const Runner runner("g (float[3, 4] x) => (float[3, 4] a, float[4, 3] b) { a = Exp (x) b = Transpose (a) }");
  const auto outputs = runner.spreads({random({3, 4})});
  for (std::size_t r = 0; r < 4; ++r) {
    const auto a = to_reals(outputs[0].samples[r].tensor), b = to_reals(outputs[1].samples[r].tensor);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j) CHECK(a[i * 4 + j] == b[j * 3 + i]);
  }
}

TEST_CASE("perturbed samples: the spread of a long dot product is that of rounding in any order") {
  constexpr std::int64_t n = 1024;
  const Tensor a = random({1, n}, 3), b = random({n, 1}, 4);
  PerturbedOptions options;
  options.samples = 1000;
  const Spread spread = Runner("g (float[1, 1024] a, float[1024, 1] b) => (float[1, 1] y) { y = MatMul (a, b) }")
                            .spreads({a, b}, options)[0];
  const auto left = to_reals(a), right = to_reals(b);
  const auto x = xt::adapt(left), w = xt::adapt(right);
  const double exact = xt::sum(x * w)();
  std::vector<double> answers;
  for (const Value& sample : spread.samples) answers.push_back(to_reals(sample.tensor)[0]);
  const auto errors = xt::adapt(answers) - exact;
  const double sigma = std::sqrt(xt::mean(xt::square(errors))());
  // sigma^2 = u^2/3 (n/3 y^2 + n/6 S), S being the sum of squared products as (sum a^2)(sum b^2)/n; storing adds u^2/3 y^2.
  const double unit = 0x1p-24 / std::sqrt(3.0);
  const double products = xt::sum(xt::square(x))() * xt::sum(xt::square(w))() / n;
  const double expected = unit * std::sqrt(n / 3.0 * exact * exact + n / 6.0 * products + exact * exact);
  CHECK(sigma == doctest::Approx(expected).epsilon(0.2));
  CHECK(std::abs(xt::mean(errors)()) < 4 * sigma / std::sqrt(options.samples));
}

TEST_CASE("perturbed samples: Winograd's noise is ten times that of float32 in convolutions that it may compute") {
  const std::vector<Value> inputs = {random({1, 8, 12, 12}), random({8, 8, 3, 3}, 2)};
  const auto deviation = [&](const std::string& attributes, Profile profile) {
    PerturbedOptions options;
    options.profile = profile;
    const Spread spread =
        Runner("g (float[1, 8, 12, 12] x, float[8, 8, 3, 3] w) => (float[N, M, H, W] y) { y = Conv <" + attributes +
               "> (x, w) }")
            .spreads(inputs, options)[0];
    return std::sqrt(sum_of_squares(spread));
  };
  const auto growth = [&](const std::string& attributes) {
    return deviation(attributes, Profile::winograd) / deviation(attributes, Profile::float32);
  };
  CHECK(growth("pads = [1, 1, 1, 1]") == doctest::Approx(10).epsilon(0.1));
  CHECK(growth("strides = [2, 2]") == doctest::Approx(1).epsilon(0.1));
  CHECK(growth("dilations = [2, 2]") == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("perturbed samples: coarser profiles are noisier") {
  const Runner runner(network);
  const std::vector<Value> inputs = {random({8, 32}), random({32, 16}, 2)};
  double last = 0;
  for (const Profile profile : {Profile::float32, Profile::tf32, Profile::float16, Profile::bfloat16}) {
    PerturbedOptions options;
    options.profile = profile;
    const double sum = sum_of_squares(runner.spreads(inputs, options)[0]);
    CHECK(sum > last);
    last = sum;
  }
}

TEST_CASE("perturbed samples: fp8 is for products with weights, all else is float16") {
  const auto growth = [](const std::string& body, const std::vector<Value>& inputs) {
    const Runner runner(body);
    const auto deviation = [&](Profile profile) {
      PerturbedOptions options;
      options.profile = profile;
      return std::sqrt(sum_of_squares(runner.spreads(inputs, options)[0]));
    };
    return deviation(Profile::fp8) / deviation(Profile::float16);
  };
  const auto weights = [](int count) {
    std::string numbers;
    for (int i = 0; i < count; ++i) numbers += (i == 0 ? "" : ", ") + std::to_string(std::sin(1.7 * i + 0.3));
    return numbers;
  };
  const std::vector<Value> x = {random({8, 32})}, narrow = {random({8, 24})};
  const std::string stored = "float[32, 16] w = {" + weights(512) + "}";
  const std::string begin = "g (float[8, 32] x) => (float[8, 16] y) ";
  constexpr double least = 64;  // of 2^7, with the rounding of results on both sides
  CHECK(growth(begin + "<" + stored + "> { y = MatMul (x, w) }", x) > least);
  CHECK(
      growth(begin + "<float[16, 32] v = {" + weights(512) + "}> { w = Transpose <perm = [1, 0]> (v) y = Gemm (x, w) }",
             x) > least);
  CHECK(growth("g (float[8, 32] x, float[32, 16] w) => (float[8, 16] y) { y = MatMul (x, w) }",
               {x[0], random({32, 16}, 2)}) == doctest::Approx(1));
  CHECK(
      growth("g (float[8, 24] x) => (float[8, 16] y) <float[24, 16] w = {" + weights(384) + "}> { y = MatMul (x, w) }",
             narrow) == doctest::Approx(1));
  CHECK(growth("g (float[1, 16, 5, 5] x) => (float[1, 1, 5, 5] y) <float[1, 16, 1, 1] w = {" + weights(16) +
                   "}> { y = Conv (x, w) }",
               {random({1, 16, 5, 5})}) == doctest::Approx(1));
}

TEST_CASE(
    "perturbed samples: numbers of few bits are exact in fp8, small ones have the error of the least normal one") {
  std::string ones, mixed;
  for (int i = 0; i < 256; ++i) ones += std::string(i == 0 ? "" : ", ") + std::to_string(i % 15 - 7);
  for (int i = 0; i < 32; ++i) mixed += std::string(i == 0 ? "" : ", ") + (i == 0 ? "1" : "0.000013");
  std::vector<float> numbers;
  for (int i = 0; i < 64; ++i) numbers.push_back(static_cast<float>(i % 15 - 7));
  CHECK_FALSE(
      is_noisy("g (float[4, 16] x) => (float[4, 16] y) <float[16, 16] w = {" + ones + "}> { y = MatMul (x, w) }",
               {floats({4, 16}, numbers)}, Profile::fp8));
  // 0.000013 is below 1/448 of 2^-6, so that it may become 0 or nearly twice itself.
  PerturbedOptions options;
  options.profile = Profile::fp8;
  std::vector<float> last(32, 0);
  last[31] = 1;
  const Spread spread =
      Runner("g (float[1, 32] x) => (float[1, 1] y) <float[32, 1] w = {" + mixed + "}> { y = MatMul (x, w) }")
          .spreads({floats({1, 32}, last)}, options)[0];
  const double deviation = std::sqrt(sum_of_squares(spread) / 4), least_normal = 0x1p-6 / 224;
  CHECK(deviation > 0.2 * least_normal / 16);
  CHECK(deviation < least_normal / 16);
}

TEST_CASE("perturbed samples: arithmetic of shapes in floats is not disturbed") {
  const std::string resized =
      "g (float[1, 3, 17, 30] x) => (float[A, B, C, D] y) { s = Shape (x) f = Cast <to = 1> (s) "
      "k = Constant <value_floats = [1.0, 1.0, 0.5, 0.3333333333333333]> () m = Mul (f, k) r = Floor (m) "
      "n = Cast <to = 7> (r) i = ConstantOfShape (n) y = Cast <to = 1> (i) }";
  for (const Profile profile : all_profiles) {
    PerturbedOptions options;
    options.profile = profile;
    options.samples = 16;
    const Spread spread = Runner(resized).spreads({random({1, 3, 17, 30})}, options)[0];
    CHECK(spread.exact.tensor.dims() == std::vector<std::int64_t>{1, 3, 8, 10});
    for (const Value& sample : spread.samples) CHECK(sample.tensor.dims() == spread.exact.tensor.dims());
  }
}

TEST_CASE("perturbed samples: sizes are rounded as their type says, in the wide mode, too") {
  // In float 0.7 is a little less, and 10 times that is 7 again after rounding.
  const Runner runner(
      "g (float[10] x) => (int64[1] y) { s = Shape (x) f = Cast <to = 1> (s) k = Constant <value_floats = [0.7]> () "
      "m = Mul (f, k) r = Floor (m) y = Cast <to = 7> (r) }");
  const std::vector<Value> inputs = {random({10})};
  CHECK(to_reals(runner.wide(inputs)) == std::vector<double>{7});
  CHECK(to_reals(runner.spreads(inputs)[0].exact.tensor) == std::vector<double>{7});
}

TEST_CASE("perturbed samples: positions and their sines are data, which has noise") {
  CHECK(is_noisy(
      "g (float[1, 50] x) => (float[50] y) { s = Shape (x) i = Constant <value_int = 1> () n = Gather (s, i) "
      "z = Constant <value_int = 0> () d = Constant <value_int = 1> () r = Range (z, n, d) f = Cast <to = 1> (r) "
      "k = Constant <value_float = 0.3> () m = Mul (f, k) y = Sin (m) }",
      {random({1, 50})}));
}

TEST_CASE(
    "perturbed samples: positions of a resized axis are rounded, so that its far end moves more, unless they are "
    "exact") {
  const auto moves = [](const std::string& scale) {
    const std::string body =
        "g (float[1, 1, 1, 4000] x) => (float[A, B, C, D] y) { s = Constant <value_floats = [1.0, 1.0, 1.0, " + scale +
        "]> () y = Resize <mode = \"linear\"> (x, , s) }";
    const Spread spread = Runner(body).spreads({random({1, 1, 1, 4000})})[0];
    const auto exact = to_reals(spread.exact.tensor), noisy = to_reals(spread.samples[0].tensor);
    const auto errors = xt::abs(xt::adapt(noisy) - xt::adapt(exact));
    const double near = xt::sum(xt::view(errors, xt::range(0, 1000)))();
    const double far = xt::sum(xt::view(errors, xt::range(noisy.size() - 1000, noisy.size())))();
    return far / near;
  };
  CHECK(moves("3.0") > 4);
  CHECK(moves("2.0") < 2);
}

TEST_CASE("perturbed samples: positions of a grid are rounded") {
  const Spread spread =
      Runner("g (float[1, 1, 1, 4000] x, float[1, 1, 100, 2] i) => (float[A, B, C, D] y) { y = GridSample (x, i) }")
          .spreads({random({1, 1, 1, 4000}), random({1, 1, 100, 2}, 2)})[0];
  const auto exact = to_reals(spread.exact.tensor), noisy = to_reals(spread.samples[0].tensor);
  CHECK(xt::amax(xt::abs(xt::adapt(noisy) - xt::adapt(exact)))() > 1e-5);
}

TEST_CASE("perturbed samples: positions of samples in regions are rounded, unless they are exact") {
  const Tensor map = random({1, 1, 1000, 1000});
  const auto moves = [&](const std::string& node, const std::vector<float>& region) {
    const Spread spread =
        Runner(
            "g (float[1, 1, 1000, 1000] x, float[1, 4] r) => (float[A, B, C, D] y) <int64[1] i = {0}, int32[1] j = "
            "{0}, int32[2] s = {9, 9}> { y = " +
            node + " }")
            .spreads({map, floats({1, 4}, region)})[0];
    const auto exact = to_reals(spread.exact.tensor), noisy = to_reals(spread.samples[0].tensor);
    return xt::amax(xt::abs(xt::adapt(noisy) - xt::adapt(exact)))();
  };
  const std::string sizes = "<output_height = 8, output_width = 8, sampling_ratio = 2";
  const std::string newest = "RoiAlign " + sizes + "> (x, r, i)";
  const std::string first = "RoiAlign " + sizes + ", coordinate_transformation_mode = \"output_half_pixel\"> (x, r, i)";
  const std::vector<float> region = {500.1F, 600.2F, 900.3F, 990.4F};
  CHECK(moves(newest, region) > 1e-5);
  CHECK(moves(first, region) > 1e-5);
  CHECK(moves(first, {500, 600, 508, 608}) < 1e-6);
  CHECK(moves("com.microsoft.CropAndResize (x, r, j, s)", {0.51F, 0.62F, 0.93F, 1}) > 1e-5);
  CHECK(moves("com.microsoft.CropAndResize <mode = \"nearest\"> (x, r, j, s)", {0.51F, 0.62F, 0.93F, 1}) < 1e-6);
}

TEST_CASE("perturbed samples: weights are quantized as the type of their scale says") {
  // The quotient is 11.49999995, in float32 11.5.
  const Spread spread = Runner(
                            "g (float[1] x) => (float[1] y) <float[1] w = {0.0068234256}, float s = {0.00059334136}, "
                            "int8 z = {0}> { q = QuantizeLinear (w, s, z) c = Cast <to = 1> (q) y = Add (x, c) }")
                            .spreads({floats({0})})[0];
  CHECK(to_reals(spread.exact.tensor) == std::vector<double>{12});
}

TEST_CASE("perturbed samples: every value can be seen at the node that wrote it") {
  const Runner runner(network);
  std::vector<std::string> seen;
  PerturbedOptions options;
  options.on_spread = [&](std::size_t node, std::string_view name, const Spread& spread) -> Result<void> {
    CHECK(node == seen.size());
    CHECK(spread.samples.size() == 4);
    seen.emplace_back(name);
    return {};
  };
  runner.spreads({random({8, 32}), random({32, 16}, 2)}, options);
  CHECK(seen == std::vector<std::string>{"h", "r", "s", "t", "y"});
  seen.clear();
  options.on_spread = [&](std::size_t, std::string_view name, const Spread&) -> Result<void> {
    seen.emplace_back(name);
    return {};
  };
  options.wants = [](std::string_view name) { return name == "r" || name == "y"; };
  runner.spreads({random({8, 32}), random({32, 16}, 2)}, options);
  CHECK(seen == std::vector<std::string>{"r", "y"});
  options.on_spread = [&](std::size_t, std::string_view, const Spread&) -> Result<void> {
    return make_error(ErrorKind::cancelled, "enough", "no more");
  };
  const auto session = runner.session();
  const auto request = Runner::request(*session, {random({8, 32}), random({32, 16}, 2)});
  const auto stopped = session->perturbed()->run(request, options);
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().diagnostic.code == "enough");
}

TEST_CASE("perturbed samples: weights of an interpolation are rounded even where numbers have few bits") {
  const auto resized = [](const std::string& mode, const std::string& scale) {
    return "g (float[1, 1, 1, 4] x) => (float[1, 1, 1, n] y) <float[4] s = {1, 1, 1, " + scale +
           "}> { y = Resize <mode = \"" + mode + "\"> (x, , s) }";
  };
  const std::vector<Value> inputs = {floats({1, 1, 1, 4}, {1, 2, 4, 3})};
  CHECK(is_noisy(resized("cubic", "1.7"), inputs));
  CHECK(is_noisy(resized("linear", "1.7"), inputs));
  CHECK_FALSE(is_noisy(resized("linear", "2"), inputs));
  CHECK_FALSE(is_noisy(resized("nearest", "1.7"), inputs));
}

TEST_CASE("perturbed samples: terms of a support vector machine that cancel keep their errors") {
  const Runner runner(
      "g (float[1, 2] x) => (float[1, 1] y) { y = ai.onnx.ml.SVMRegressor <kernel_type = \"POLY\", kernel_params = "
      "[0.3, 1.0, 3.0], "
      "coefficients = [1000.0, -1000.0], support_vectors = [0.7, 0.1, 0.7, 0.1001], rho = [0.0], n_supports = 2> (x) "
      "}");
  const std::vector<Value> inputs = {random({1, 2})};
  const Spread spread = runner.spreads(inputs)[0];
  CHECK(greatest_error(spread) > 1e-5);  // a rounding of the terms, which are near 1000; of the result it would be 1e-8
}

TEST_CASE("perturbed samples: operators on integers that compute with reals round inside") {
  const Tensor bytes = *Tensor::from_bytes(ElementType::uint8, {1, 2, 1}, {std::byte{3}, std::byte{50}});
  const Runner attention(
      "g (uint8[1, 2, 1] x) => (float[1, 2, 1] y) <int8[1, 3] w = {1, 1, 1}, float[3] b = {100.3, 100.7, 0}, "
      "float one = {1}, float[3] scales = {0.0007, 0.00013, 0.37}> { "
      "y = com.microsoft.QAttention <num_heads = 1> (x, w, b, one, scales) }");
  CHECK(greatest_error(attention.spreads({bytes})[0]) > 1e-5);  // scores near 10,000 differ by less than 1

  const Tensor ids = *Tensor::from_bytes(ElementType::int32, {1, 2}, std::vector<std::byte>(8));
  const Runner embedding(
      "g (int32[1, 2] x) => (float[1, 2, 3] y, int32[1] m) <float[1, 3] words = {1000.1, 1001.7, 999.3}, "
      "float[2, 3] positions = {0.1, 0.2, 0.3, 0.7, 0.11, 0.13}, float[3] scale = {1, 1, 1}, float[3] bias = {0, 0, "
      "0}> "
      "{ y, m = com.microsoft.EmbedLayerNormalization (x, , words, positions, , scale, bias) }");
  CHECK(greatest_error(embedding.spreads({ids})[0]) > 1e-5);  // numbers near 1,000 differ by 1

  const Tensor whole = *Tensor::from_bytes(ElementType::int32, {1, 2}, {std::byte{3}, {}, {}, {}, {}, {}, {}, {}});
  const Runner machine(
      "g (int32[1, 2] x) => (float[1, 1] y) { y = ai.onnx.ml.SVMRegressor <kernel_type = \"POLY\", kernel_params = "
      "[0.3, 1.0, 3.0], coefficients = [100.0, -100.0], support_vectors = [0.7, 0.1, 0.7001, 0.1], rho = [0.0], "
      "n_supports = 2> (x) }");
  CHECK(greatest_error(machine.spreads({whole})[0]) > 1e-5);
}

namespace {

Tensor doubles(const Tensor& x) {
  const std::vector<double> values = to_reals(x);
  const auto bytes = std::as_bytes(std::span(values));
  return *Tensor::from_bytes(ElementType::float64, x.dims(), {bytes.begin(), bytes.end()});
}

/// Root mean square of what samples are off by.
double deviation(const Spread& spread) {
  const auto errors = static_cast<std::size_t>(spread.exact.tensor.size()) * spread.samples.size();
  return std::sqrt(sum_of_squares(spread) / static_cast<double>(errors));
}

}  // namespace

TEST_CASE("perturbed samples: float64 has errors of double precision, whatever the profile") {
  const std::string body = " { h = MatMul (x, w) e = Exp (h) y = Softmax (e) }";
  const Runner single("g (float[8, 32] x, float[32, 16] w) => (float[8, 16] y)" + body);
  const Runner twice("g (double[8, 32] x, double[32, 16] w) => (double[8, 16] y)" + body);
  const Tensor x = random({8, 32}), w = random({32, 16}, 2);
  const double coarse = deviation(single.spreads({x, w})[0]);
  for (const Profile profile : {Profile::float32, Profile::bfloat16}) {
    PerturbedOptions options;
    options.profile = profile;
    const double fine = deviation(twice.spreads({doubles(x), doubles(w)}, options)[0]);
    CHECK(fine > 0);
    CHECK(fine * 0x1p29 == doctest::Approx(coarse).epsilon(0.5));
  }
  CHECK_FALSE(is_noisy("g (double[4] x) => (double[4] y) { y = Relu (x) }", {doubles(random({4}))}));
  CHECK_FALSE(is_noisy("g (float[4] x) => (double[4] y) { y = Cast <to = 11> (x) }", {random({4})}));
}

TEST_CASE("perturbed samples: gates and Sigmoid are off by a rounding of 1, however small the result") {
  const Tensor low = floats({1, 1, 1}, {-20.3F}), one = floats({1, 1, 1}, {1.1F});
  const double sigmoid =
      deviation(Runner("g (float[1, 1, 1] x) => (float[1, 1, 1] y) { y = Sigmoid (x) }").spreads({low})[0]);
  CHECK(sigmoid > 0x1p-26);
  CHECK(sigmoid < 0x1p-23);
  // The output gate of an LSTM with one unit: all others are open.
  const Runner lstm(
      "g (float[1, 1, 1] x, float[1, 4, 1] w, float[1, 4, 1] r) => (float[1, 1, 1, 1] y) "
      "{ y = LSTM <hidden_size = 1> (x, w, r) }");
  const Tensor weights = floats({1, 4, 1}, {9.3F, -20.3F, 9.3F, 1.3F}), none = floats({1, 4, 1}, {0, 0, 0, 0});
  CHECK(deviation(lstm.spreads({one, weights, none})[0]) > 0x1p-26);
}

TEST_CASE("perturbed samples: more samples have other errors, as large as is asked for") {
  const Runner runner(network);
  const std::vector<Value> inputs = {random({8, 32}), random({32, 16}, 2)};
  PerturbedOptions options;
  const Spread first = runner.spreads(inputs, options)[0];
  options.first_sample = 4;
  options.samples = 2;
  const Spread more = runner.spreads(inputs, options)[0];
  for (const Value& a : first.samples) CHECK_FALSE(same_content(a.tensor, more.samples[0].tensor));
  options.amplitude = 4;
  CHECK(deviation(runner.spreads(inputs, options)[0]) == doctest::Approx(4 * deviation(more)).epsilon(0.05));
  options.first_sample = 3;
  options.amplitude = 1;
  CHECK(same_content(runner.spreads(inputs, options)[0].samples[0].tensor, first.samples[3].tensor));
}

TEST_CASE("perturbed samples: those of edges flip what lies a few sigmas from an edge, once in each pair") {
  // A third is 10.5 steps and a little less; of the others none is near an edge.
  const Runner runner(
      "g (float[3] x) => (float[3] y, uint8[3] q) <float t = {3}, float s = {0.031746037}> "
      "{ d = Div (x, t) q = QuantizeLinear (d, s) y = DequantizeLinear (q, s) }");
  PerturbedOptions options;
  options.edge_samples = 4;
  const Value x(floats({3}, {1, 0.7F, 2.2F}));
  const std::vector<Spread> outputs = runner.spreads({x}, options);
  const Spread& steps = outputs[1];
  REQUIRE(steps.samples.size() == 8);
  CHECK(steps.edges == 4);
  CHECK(steps.is_steps);
  CHECK_FALSE(outputs[0].is_steps);
  CHECK(steps.exposed == doctest::Approx(1.0 / 3));
  const std::vector<double> exact = to_reals(steps.exact.tensor);
  for (std::size_t r = 0; r < 4; ++r) CHECK(to_reals(steps.samples[r].tensor) == exact);
  for (std::size_t r = 4; r < 8; r += 2) {
    const std::vector<double> one = to_reals(steps.samples[r].tensor), other = to_reals(steps.samples[r + 1].tensor);
    CHECK((one[0] != exact[0]) + (other[0] != exact[0]) == 1);
    CHECK(one[1] == exact[1]);
    CHECK(one[2] == exact[2]);
  }
}

/// How many samples of edges flip each element of an output.
std::vector<int> flips_by_edges(const Spread& spread) {
  std::vector<int> flips(static_cast<std::size_t>(spread.exact.tensor.size()), 0);
  const std::vector<double> exact = to_reals(spread.exact.tensor);
  for (std::size_t r = spread.plain(); r < spread.samples.size(); ++r) {
    const std::vector<double> sample = to_reals(spread.samples[r].tensor);
    for (std::size_t i = 0; i < exact.size(); ++i) flips[i] += sample[i] != exact[i];
  }
  return flips;
}

TEST_CASE("perturbed samples: a quantizer itself errs by roundings of its range") {
  // 10.5 steps less 5e-6 of a step: further than a rounding of 10.5, not than one of 10.5 and the zero point.
  const Runner runner(
      "g (float[3] x) => (uint8[3] q) <float s = {1}, uint8 z = {120}> { q = QuantizeLinear (x, s, z) }");
  PerturbedOptions options;
  options.edge_samples = 4;
  const Spread spread = runner.spreads({Value(floats({3}, {10.499995F, 10.49F, 20}))}, options)[0];
  CHECK(flips_by_edges(spread) == std::vector<int>{2, 0, 0});
}

TEST_CASE("perturbed samples: edges of quantized operators, and of quantizers in functions and bodies") {
  PerturbedOptions options;
  options.edge_samples = 4;
  const auto flips = [&](const std::string& body, const std::vector<Value>& inputs) {
    return flips_by_edges(Runner(body).spreads(inputs, options)[0]);
  };
  const std::string scales = "float half = {0.5}, float one = {1}, uint8 zero = {0}";
  const Value row(encoded<std::uint64_t>(ElementType::uint8, {1, 2}, {3, 4}));
  CHECK(flips("g (uint8[1, 2] x) => (uint8[1, 2] y) <" + scales +
                  ", uint8[2, 2] w = {1, 0, 0, 1}> "
                  "{ y = QLinearMatMul (x, one, zero, w, half, zero, one, zero) }",
              {row}) == std::vector<int>{2, 0});
  const Value image(encoded<std::uint64_t>(ElementType::uint8, {1, 1, 2}, {3, 4}));
  CHECK(flips("g (uint8[1, 1, 2] x) => (uint8[1, 1, 2] y) <" + scales +
                  ", uint8[1, 1, 1] w = {1}> "
                  "{ y = QLinearConv (x, one, zero, w, half, zero, one, zero) }",
              {image}) == std::vector<int>{2, 0});
  const Value numbers(floats({2}, {10.5F, 4}));
  CHECK(flips("g (float[2] x) => (uint8[2] y) <bool yes = {1}, " + scales +
                  "> "
                  "{ y = If (yes) <then_branch = a () => (uint8[2] q) { q = QuantizeLinear (x, one, zero) }, "
                  "else_branch = b () => (uint8[2] r) { r = QuantizeLinear (x, one, zero) }> }",
              {numbers}) == std::vector<int>{2, 0});
}

TEST_CASE("perturbed samples: the sum of a tree ensemble errs by its partial sums") {
  // 1000 + 1 - 1000: what is left of the sum is small.
  const Runner runner(
      "g (float[1, 1] x) => (float[1, 1] y) { y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, "
      "nodes_treeids = [0, 1, 2], nodes_nodeids = [0, 0, 0], nodes_featureids = [0, 0, 0], nodes_values = [0., 0., "
      "0.], "
      "nodes_modes = [\"LEAF\", \"LEAF\", \"LEAF\"], nodes_truenodeids = [0, 0, 0], nodes_falsenodeids = [0, 0, 0], "
      "target_treeids = [0, 1, 2], target_nodeids = [0, 0, 0], target_ids = [0, 0, 0], "
      "target_weights = [1000., 1., -1000.]> (x) }");
  PerturbedOptions options;
  options.samples = 32;
  const Spread spread = runner.spreads({Value(floats({1, 1}, {1}))}, options)[0];
  double squares = 0;
  for (const Value& sample : spread.samples) squares += std::pow(to_reals(sample.tensor)[0] - 1, 2) / 32;
  // Of a rounding of the partial sum 1001: 0x1p-24 / sqrt(3) * 1000, here times sqrt(3 / 6 * 2).
  CHECK(std::sqrt(squares) == doctest::Approx(0x1p-24 / std::sqrt(3) * 1000).epsilon(0.4));
}

}  // namespace onnxkit::tests::reference_perturbed
