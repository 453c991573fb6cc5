#include "onnxkit/metrics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <xtensor/xadapt.hpp>
#include <xtensor/xindex_view.hpp>
#include <xtensor/xmath.hpp>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/compare/metrics/metrics.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::exec_metrics {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Metrics figures(const Tensor& a, const Tensor& b, std::size_t worst = 10) {
  const auto found = compare(a, b, worst);
  REQUIRE(found);
  return *found;
}

bool same(const Metrics& x, const Metrics& y) {
  const auto numbers = [](const Metrics& m) {
    return std::vector<double>{m.max_absolute,   m.mean_absolute, m.rmse,     m.max_relative, m.mean_relative,
                               m.range_relative, m.cosine,        m.alpha,    m.beta,         m.r2,
                               m.residual,       m.max_ulps,      m.mean_ulps};
  };
  const auto counts = [](const Metrics& m) {
    return std::vector<std::uint64_t>{m.elements,       m.compared,       m.equal,
                                      m.nan_mismatches, m.inf_mismatches, m.sign_flips};
  };
  const auto indices = [](const Metrics& m) {
    std::vector<std::uint64_t> all;
    for (const WorstElement& element : m.worst) all.push_back(element.index);
    return all;
  };
  return numbers(x) == numbers(y) && counts(x) == counts(y) && indices(x) == indices(y);
}

std::vector<double> normal(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> distribution;
  std::vector<double> values(count);
  for (double& value : values) value = distribution(random);
  return values;
}

}  // namespace

TEST_CASE("tensors without elements are equal in every way") {
  const Metrics found = figures(reals({}), reals({}));
  CHECK(found.elements == 0);
  CHECK(found.compared == 0);
  CHECK(found.max_absolute == 0);
  CHECK(found.cosine == 1);
  CHECK(found.alpha == 1);
  CHECK(found.r2 == 1);
  CHECK(found.worst.empty());
}

TEST_CASE("one element is a line of slope 1") {
  const Metrics found = figures(reals({2}), reals({3}));
  CHECK(found.max_absolute == 1);
  CHECK(found.max_relative == 0.5);
  CHECK(found.range_relative == 0.5);
  CHECK(found.alpha == 1);
  CHECK(found.beta == 1);
  CHECK(found.residual == 0);
  CHECK(found.r2 == 1);
  REQUIRE(found.worst.size() == 1);
  CHECK(found.worst[0].a == 2);
  CHECK(found.worst[0].b == 3);
}

TEST_CASE("NaN and infinity are counted apart and come first among the worst") {
  const auto a = reals({not_a_number, not_a_number, 1, infinity, infinity, -infinity, 5, 7});
  const auto b = reals({not_a_number, 1, not_a_number, infinity, -infinity, 0, 5.5, 7});
  const Metrics found = figures(a, b);
  CHECK(found.elements == 8);
  CHECK(found.compared == 2);
  CHECK(found.equal == 3);
  CHECK(found.nan_mismatches == 2);
  CHECK(found.inf_mismatches == 2);
  CHECK(found.max_absolute == 0.5);
  REQUIRE(found.worst.size() == 5);
  const std::uint64_t order[] = {1, 2, 4, 5, 6};
  for (std::size_t i = 0; i < 5; ++i) CHECK(found.worst[i].index == order[i]);
  CHECK(figures(a, b, 2).worst.size() == 2);
  CHECK(figures(a, b, 0).worst.empty());
}

TEST_CASE("-0 is 0, and no sign is flipped at 0") {
  const Metrics found = figures(reals({0.0, -0.0, 0.0, -1}), reals({-0.0, 0.0, -1, 1}));
  CHECK(found.equal == 2);
  CHECK(found.sign_flips == 1);
  CHECK(found.max_relative == 2);
  CHECK(found.mean_relative == 2);  // of the one element that is not 0
  CHECK(figures(reals({1e-320}), reals({-1e-320})).sign_flips == 1);
  CHECK(figures(reals({0}, ElementType::float32), reals({-0.0}, ElementType::float32)).max_ulps == 0);
}

TEST_CASE("ulps count the numbers of the coarser type") {
  const auto distance = [](double a, ElementType a_type, double b, ElementType b_type) {
    return figures(reals({a}, a_type), reals({b}, b_type)).max_ulps;
  };
  const auto f16 = ElementType::float16, f32 = ElementType::float32, f64 = ElementType::float64;
  CHECK(distance(1, f32, 1 + 0x1p-22, f32) == 2);
  CHECK(distance(1, f32, 1 + 0x1p-22, f64) == 2);
  CHECK(distance(1, f16, 1 + 0x1p-22, f32) == 0);
  CHECK(distance(1, f16, 1 + 0x1p-9, f32) == 2);
  CHECK(distance(1, ElementType::bfloat16, 1 + 0x1p-9, f16) == 0);
  CHECK(distance(-0x1p-149, f32, 0x1p-149, f32) == 2);
  CHECK(distance(-0x1p-1074, f64, 0x1p-1074, f64) == 2);
  CHECK(distance(-1.5, ElementType::float4e2m1, 2, ElementType::float4e2m1) == 7);
  CHECK(distance(1, ElementType::float8e8m0, 8, ElementType::float8e8m0) == 3);
  CHECK(distance(1, ElementType::float8e8m0, 8, f32) == 0);
  const Metrics ends =
      figures(reals({-std::numeric_limits<float>::max()}, f32), reals({std::numeric_limits<float>::max()}, f32));
  CHECK(ends.max_ulps == 2.0 * 0x7f7fffff);
  CHECK(figures(integers({1}), integers({2})).max_ulps == 0);
}

TEST_CASE("integers are compared as integers") {
  const std::int64_t edge = std::int64_t{1} << 53;
  const Metrics found = figures(integers({edge, edge, -edge}), integers({edge + 1, edge, -edge - 3}));
  CHECK(found.equal == 1);
  CHECK(found.max_absolute == 3);
  CHECK(found.worst.size() == 2);
  const auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  CHECK(figures(integers({least}), integers({most})).max_absolute == 0x1p64);
  const auto top = std::numeric_limits<std::uint64_t>::max();
  CHECK(figures(encoded<std::uint64_t>(ElementType::uint64, {top}),
                encoded<std::uint64_t>(ElementType::uint64, {top - 1}))
            .max_absolute == 1);
  CHECK(
      figures(encoded<std::int64_t>(ElementType::int4, {-8, 7, 3}), encoded<std::int64_t>(ElementType::int4, {7, 7, 3}))
          .max_absolute == 15);
}

TEST_CASE("numbers at the ends of double neither overflow nor vanish") {
  const double most = std::numeric_limits<double>::max();
  const Metrics large = figures(reals({most, -most}), reals({most / 2, -most / 2}));
  CHECK(large.max_absolute == most / 2);
  CHECK(large.rmse == most / 2);
  CHECK(large.max_relative == 0.5);
  CHECK(large.cosine == doctest::Approx(1).epsilon(1e-15));
  CHECK(large.alpha == doctest::Approx(0.5).epsilon(1e-15));
  CHECK(large.range_relative == 0.25);
  const Metrics small = figures(reals({1e-310, 2e-310}), reals({2e-310, 4e-310}));
  CHECK(small.rmse == doctest::Approx(1.5811388300841898e-310).epsilon(1e-9));
  CHECK(small.alpha == doctest::Approx(2).epsilon(1e-12));
  const Metrics mixed = figures(reals({1e300, 1e-300}), reals({1e300, 2e-300}));
  CHECK(mixed.rmse == doctest::Approx(1e-300 / std::sqrt(2.0)).epsilon(1e-12));
  CHECK(mixed.max_relative == 1);
}

TEST_CASE("range-relative and cosine where a says little") {
  CHECK(figures(reals({2, 2}), reals({2, 3})).range_relative == 0.5);
  CHECK(figures(reals({0, 0}), reals({0, 0})).range_relative == 0);
  CHECK(figures(reals({0, 0}), reals({0, 1})).range_relative == infinity);
  CHECK(figures(reals({0, 0}), reals({0, 0})).cosine == 1);
  CHECK(figures(reals({0, 0}), reals({0, 1})).cosine == 0);
  CHECK(figures(reals({1, 0}), reals({0, 1})).cosine == 0);
}

TEST_CASE("every figure is what its definition says") {
  for (const std::uint64_t seed : {4, 5, 6}) {
    CAPTURE(seed);
    std::vector<double> left = normal(5'000, seed), noise = normal(5'000, seed + 100);
    left[17] = 0;
    const xt::xtensor<double, 1> a = xt::adapt(left), b = 0.9 * a + 0.1 * xt::adapt(noise) + 0.02, d = b - a;
    const Metrics found = figures(reals(left), reals({b.begin(), b.end()}));
    const auto is = [](double value) { return doctest::Approx(value).epsilon(1e-13); };
    CHECK(found.max_absolute == is(xt::amax(xt::abs(d))()));
    CHECK(found.mean_absolute == is(xt::mean(xt::abs(d))()));
    CHECK(found.rmse == is(std::sqrt(xt::mean(xt::square(d))())));
    const xt::xtensor<double, 1> relative =
        xt::abs(xt::filter(d, xt::not_equal(a, 0.0)) / xt::filter(a, xt::not_equal(a, 0.0)));
    CHECK(found.max_relative == is(xt::amax(relative)()));
    CHECK(found.mean_relative == is(xt::mean(relative)()));
    CHECK(found.range_relative == is(xt::amax(xt::abs(d))() / (xt::amax(a)() - xt::amin(a)())));
    CHECK(found.cosine == is(xt::sum(a * b)() / std::sqrt(xt::sum(a * a)() * xt::sum(b * b)())));
    CHECK(found.sign_flips == xt::sum(xt::cast<std::uint64_t>(a * b < 0.0))());
    const double mean_a = xt::mean(a)(), mean_b = xt::mean(b)();
    const double alpha = xt::sum((a - mean_a) * (b - mean_b))() / xt::sum(xt::square(a - mean_a))();
    const double beta = mean_b - alpha * mean_a;
    const xt::xtensor<double, 1> rest = b - alpha * a - beta;
    CHECK(found.alpha == is(alpha));
    CHECK(found.beta == is(beta));
    CHECK(found.residual == is(std::sqrt(xt::mean(xt::square(rest))())));
    CHECK(found.r2 == is(1 - xt::sum(xt::square(rest))() / xt::sum(xt::square(b - mean_b))()));
  }
}

TEST_CASE("the line is found exactly where the deviation is one") {
  std::vector<double> a = normal(200'000, 1), b = a;
  for (double& value : b) value = 2 * value + 0.25;
  const Metrics found = figures(reals(a), reals(b));
  CHECK(found.alpha == doctest::Approx(2).epsilon(1e-14));
  CHECK(found.beta == doctest::Approx(0.25).epsilon(1e-14));
  CHECK(found.residual < 1e-15);
  CHECK(found.r2 == 1);
  const Metrics constant = figures(reals({1, 2, 3}), reals({5, 5, 5}));
  CHECK(constant.alpha == 0);
  CHECK(constant.beta == 5);
  CHECK(constant.r2 == 0);
  CHECK(constant.residual == 0);
}

TEST_CASE("the worst are the same as after sorting all, ties by index") {
  const xt::xtensor<double, 1> b = xt::cast<double>(xt::arange<std::uint64_t>(300'000) * 7919 % 1000);
  const Metrics found = figures(reals(std::vector<double>(b.size())), reals({b.begin(), b.end()}), 400);
  REQUIRE(found.worst.size() == 400);
  const auto highest = xt::flatnonzero<xt::layout_type::row_major>(xt::equal(b, 999.0));
  REQUIRE(highest.size() == 300);
  for (std::size_t i = 0; i < 300; ++i) CHECK(found.worst[i].index == highest[i]);
  CHECK(found.worst[300].b == 998);
}

TEST_CASE("figures do not depend on the number of threads") {
  std::vector<double> a = normal(500'001, 2), b = normal(500'001, 3);
  for (std::size_t i = 0; i < a.size(); i += 5'003) a[i] = not_a_number;
  for (const ElementType type : {ElementType::float16, ElementType::float32, ElementType::float64}) {
    const auto one = comparison::compare(reals(a, type), reals(b, type), 50, 1);
    REQUIRE(one);
    for (const int threads : {2, 3, 8}) {
      const auto many = comparison::compare(reals(a, type), reals(b, type), 50, threads);
      REQUIRE(many);
      CHECK(same(*one, *many));
    }
  }
}

TEST_CASE("tensors that cannot be compared") {
  const auto code = [](const Tensor& a, const Tensor& b) {
    const auto found = compare(a, b);
    REQUIRE_FALSE(found);
    return found.error().diagnostic.code;
  };
  const Tensor text = *Tensor::from_strings({1}, {"a"});
  const Tensor complex = *Tensor::from_bytes(ElementType::complex64, {1}, std::vector<std::byte>(8));
  CHECK(code(text, text) == "undefined-for-type");
  CHECK(code(reals({1}), complex) == "undefined-for-type");
  CHECK(code(Tensor(), Tensor()) == "undefined-for-type");
  CHECK(code(reals({1}), reals({1, 2})) == "shape-mismatch");
}

}  // namespace onnxkit::tests::exec_metrics
