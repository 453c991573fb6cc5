#include "libonnxkit/compare/verdict.h"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>

#include "libonnxkit/base/dtype/dtype.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::exec_judge {

using comparison::TensorVerdict;
using exec::Spread;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Tensor complexes(const std::vector<std::complex<float>>& values) {
  return stored(ElementType::complex64, {static_cast<std::int64_t>(values.size())}, values);
}

Spread spread(const Tensor& exact, const std::vector<Tensor>& samples = {}) {
  Spread all{Value(exact), {}};
  for (const Tensor& sample : samples) all.samples.emplace_back(sample);
  return all;
}

/// Samples that are `sigma` above and below the exact numbers.
Spread around(const std::vector<double>& exact, double sigma) {
  std::vector<double> above = exact, below = exact;
  for (double& x : above) x += sigma;
  for (double& x : below) x -= sigma;
  return spread(reals(exact), {reals(above), reals(below)});
}

/// Numbers of no special type are those of a float32 model.
Tensor as_single(const Tensor& x) {
  return x.type() == ElementType::float64 ? encoded(ElementType::float32, x.dims(), to_reals(x)) : x;
}

TensorVerdict verdict_of(const Spread& all, const Tensor& got, const Tensor* origin = nullptr) {
  const Tensor other = origin ? as_single(*origin) : Tensor();
  return comparison::verdict_of(all, as_single(got), Profile::float32, origin ? &other : nullptr);
}

}  // namespace

TEST_CASE("a deviation is measured in standard deviations of the samples") {
  const Spread all = around({1, 2, 3, 4}, 0.01);
  SUBCASE("one sigma everywhere is rounding") {
    const TensorVerdict found = verdict_of(all, reals({1.01, 1.99, 3.01, 3.99}));
    CHECK(found.verdict == Verdict::rounding);
    CHECK(found.floor.healthy);
    CHECK(found.floor.rms == doctest::Approx(1));
    CHECK(found.floor.largest == doctest::Approx(1));
  }
  SUBCASE("up to two by root mean square over many") {
    const std::vector<double> exact(10'000, 1), near(10'000, 1.02), far(10'000, 1.021);
    CHECK(verdict_of(around(exact, 0.01), reals(near)).verdict == Verdict::rounding);
    const TensorVerdict found = verdict_of(around(exact, 0.01), reals(far));
    CHECK(found.verdict == Verdict::not_rounding);
    CHECK_FALSE(found.floor.healthy);
    CHECK(found.floor.elements == 10'000);
    CHECK(found.floor.profile == Profile::float32);
  }
}

TEST_CASE("rms and largest are what their definitions say") {
  std::mt19937_64 bits(3);
  std::normal_distribution<double> normal;
  const auto draw = [&](double size) {
    xt::xtensor<double, 1> numbers = xt::zeros<double>({500});
    for (double& x : numbers) x = size * normal(bits);
    return numbers;
  };
  const auto tensor_of = [](const xt::xtensor<double, 1>& x) { return reals({x.begin(), x.end()}); };
  // Each element has noise of its own size. What storing in float64 rounds vanishes beside it; float64 has rounded twice, the exact answer being one.
  const xt::xtensor<double, 1> exact = draw(1), sigma = xt::abs(draw(1e-3)), got = exact + 1.5 * sigma * draw(1);
  std::vector<xt::xtensor<double, 1>> samples;
  Spread all{Value(tensor_of(exact)), {}};
  for (int i = 0; i < 6; ++i) all.samples.emplace_back(tensor_of(samples.emplace_back(exact + sigma * draw(1))));
  xt::xtensor<double, 1> variance = xt::zeros<double>({500});
  for (const auto& sample : samples) variance += 2 * xt::square(sample - exact) / 6.0;
  const double pooled = xt::mean(variance)();
  const auto squares = xt::square(got - exact);
  const TensorVerdict found = comparison::verdict_of(all, tensor_of(got), Profile::float32);
  CHECK(found.floor.rms ==
        doctest::Approx(std::sqrt(xt::mean(squares / xt::maximum(variance, pooled / 4))())).epsilon(1e-9));
  CHECK(found.floor.largest ==
        doctest::Approx(std::sqrt(xt::amax(squares / xt::maximum(variance, pooled))())).epsilon(1e-9));
}

TEST_CASE("the rms of few elements may be larger, since sigma is estimated from few samples") {
  CHECK(comparison::rms_limit(1) == doctest::Approx(10));
  CHECK(comparison::rms_limit(16) == doctest::Approx(4));
  CHECK(comparison::rms_limit(1'000'000) == doctest::Approx(2).epsilon(0.01));
  CHECK(comparison::rms_limit(1, 200) == comparison::healthy_largest);
  CHECK(comparison::rms_limit(16, 64) == doctest::Approx(6));
  // Student's t with as many degrees of freedom as samples: honest noise of full size is called rounding but for one of thousands.
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  for (const std::size_t elements : {1, 3, 10, 100}) {
    CAPTURE(elements);
    int alarms = 0;
    for (int trial = 0; trial < 5000; ++trial) {
      const auto draw = [&] {
        std::vector<double> values(elements, 100);
        for (double& x : values) x += 0.01 * normal(bits);
        return reals(values);
      };
      const Spread all =
          spread(reals(std::vector<double>(elements, 100)), {draw(), draw(), draw(), draw(), draw(), draw()});
      alarms += verdict_of(all, draw()).verdict != Verdict::rounding;
    }
    CHECK(alarms <= 3);
  }
  const TensorVerdict close = verdict_of(around({1}, 0.01), reals({1.2})),
                      hopeless = verdict_of(around({1}, 0.01), reals({2}));
  CHECK(close.verdict == Verdict::not_rounding);
  CHECK(close.in_doubt);
  CHECK(hopeless.verdict == Verdict::not_rounding);
  CHECK_FALSE(hopeless.in_doubt);
}

TEST_CASE("elements that inherit one error have the limit of a few draws") {
  std::mt19937_64 bits(5);
  std::normal_distribution<double> normal;
  const std::vector<double> exact(1000, 1);
  const auto sample = [&](bool is_common) {
    const double first = normal(bits), second = normal(bits);
    std::vector<double> numbers(exact);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] += 0.001 * (is_common ? i < 500 ? first : second : normal(bits));
    return reals(numbers);
  };
  const auto found = [&](bool is_common) {
    const Spread all =
        spread(reals(exact), {sample(is_common), sample(is_common), sample(is_common), sample(is_common)});
    std::vector<double> got(exact);
    for (std::size_t i = 0; i < got.size(); ++i) got[i] += 0.0026;
    return verdict_of(all, reals(got));
  };
  for (int repeat = 0; repeat < 20; ++repeat) {
    const TensorVerdict common = found(true), apart = found(false);
    CHECK(common.floor.draws <= 3);
    CHECK(common.floor.healthy == (common.floor.rms <= comparison::rms_limit(common.floor.draws)));
    CHECK(apart.floor.draws >= 300);
    CHECK(apart.verdict == Verdict::not_rounding);
  }
}

TEST_CASE("steps of a quantizer: their size counts, too") {
  Spread all = spread(integers({10, 20, 30, 40}), {integers({11, 20, 30, 39}), integers({10, 21, 29, 40})});
  all.is_steps = true;
  CHECK(verdict_of(all, integers({11, 20, 29, 40})).verdict == Verdict::undecidable);
  CHECK(verdict_of(all, integers({54, 60, 0, 84})).verdict == Verdict::not_rounding);
  all.is_steps = false;
  CHECK(verdict_of(all, integers({54, 60, 0, 84})).verdict == Verdict::undecidable);
}

TEST_CASE("samples of edges widen the floor where they flip") {
  Spread all = spread(reals({1, 2, 3}), {reals({1, 2, 3}), reals({1, 2, 3}), reals({1, 2.5, 3}), reals({1, 2, 3})});
  const Tensor flipped = reals({1, 2.5, 3}), other = reals({1, 2, 3.5});
  all.edges = 2;
  CHECK(verdict_of(all, flipped).verdict == Verdict::rounding);
  all.samples[2] = Value(reals({1, 2, 3}));
  CHECK(verdict_of(all, flipped).verdict == Verdict::not_rounding);
}

TEST_CASE("rows that samples exchange are matched, though the shape stays") {
  const std::vector<std::int64_t> dims{20, 3};
  const auto table = [&](double noise, std::vector<std::size_t> exchanged = {}, double off = 0) {
    std::vector<double> numbers;
    for (std::size_t i = 0; i < 20; ++i) {
      std::size_t row = i;
      if (std::find(exchanged.begin(), exchanged.end(), i) != exchanged.end()) row = i ^ 1;
      for (std::size_t j = 0; j < 3; ++j)
        numbers.push_back(std::sin(static_cast<double>(7 * row + j)) +
                          noise * std::cos(static_cast<double>(31 * row + j)));
    }
    numbers[30] += off;
    return encoded(ElementType::float64, dims, numbers);
  };
  Spread all = spread(table(0), {table(1e-6), table(-1e-6), table(2e-6, {4, 5}), table(-1e-6, {4, 5})});
  CHECK(verdict_of(all, table(1e-6)).verdict == Verdict::rounding);
  const TensorVerdict off = verdict_of(all, table(0, {}, 0.02));
  CHECK(off.verdict == Verdict::not_rounding);
  CHECK(verdict_of(all, table(1e-6, {4, 5})).verdict == Verdict::undecidable);
  const TensorVerdict other = verdict_of(all, table(1e-6, {12, 13}));
  CHECK(other.verdict == Verdict::not_rounding);
  CHECK(other.why.find("2 rows are at other places, of which rounding can move 0") != std::string::npos);
}

TEST_CASE("behind quantizers elements may jump as samples of edges do: as many, and as far") {
  // Of 40 elements each sample of edges moves four others by a step.
  std::vector<double> exact(40, 1);
  Spread all = spread(reals(exact), std::vector<Tensor>(4, reals(exact)));
  for (std::size_t r = 0; r < 4; ++r) {
    std::vector<double> sample = exact;
    for (std::size_t i = 0; i < 4; ++i) sample[4 * r + i] += 0.5;
    all.samples.emplace_back(reals(sample));
  }
  all.edges = 4;
  const auto verdict = [&](std::size_t count, double size) {
    std::vector<double> got = exact;
    for (std::size_t i = 0; i < count; ++i) got[39 - i] += size;
    return verdict_of(all, reals(got));
  };
  const TensorVerdict jumped = verdict(4, 0.5);
  CHECK(jumped.verdict == Verdict::rounding);
  CHECK(jumped.flips == 4);
  CHECK(jumped.floor.elements == 36);
  CHECK(jumped.floor.rms == 0);
  CHECK(verdict(4, 2).verdict == Verdict::not_rounding);
  CHECK(verdict(20, 0.5).verdict == Verdict::not_rounding);
}

TEST_CASE("steps may flip as often as samples of edges flip others") {
  std::vector<std::int64_t> exact(40, 10);
  Spread all = spread(integers(exact), std::vector<Tensor>(4, integers(exact)));
  for (std::size_t r = 0; r < 4; ++r) {
    std::vector<std::int64_t> sample = exact;
    for (std::size_t i = 0; i < 4; ++i) ++sample[4 * r + i];
    all.samples.emplace_back(integers(sample));
  }
  all.edges = 4;
  all.is_steps = true;
  std::vector<std::int64_t> got = exact;
  for (std::size_t i = 36; i < 40; ++i) ++got[i];
  CHECK(verdict_of(all, integers(got)).verdict == Verdict::undecidable);
  for (std::size_t i = 16; i < 40; ++i) got[i] = 11;
  CHECK(verdict_of(all, integers(got)).verdict == Verdict::not_rounding);
}

TEST_CASE("one element that is far off is seen among many that are exact") {
  std::vector<double> exact(10'000, 1), got = exact;
  got[1234] += 0.119;
  const Spread all = around(exact, 0.01);
  CHECK(verdict_of(all, reals(got)).verdict == Verdict::rounding);
  got[1234] = 1.121;
  const TensorVerdict found = verdict_of(all, reals(got));
  CHECK(found.verdict == Verdict::not_rounding);
  CHECK(found.floor.rms < comparison::healthy_rms);
  CHECK(found.floor.largest > comparison::healthy_largest);
}

TEST_CASE("without noise only what storing rounds is allowed") {
  const Tensor exact = reals({1.0 / 3, 2.0 / 3});
  CHECK(verdict_of(spread(exact, {exact}), reals({1.0 / 3, 2.0 / 3}, ElementType::float32)).verdict ==
        Verdict::rounding);
  CHECK(verdict_of(spread(exact, {exact}), reals({1.0 / 3, 0.6667}, ElementType::float32)).verdict ==
        Verdict::not_rounding);
  CHECK(verdict_of(spread(exact, {exact}), reals({0.3333, 0.6665}, ElementType::float16)).verdict == Verdict::rounding);
  const Tensor zeros = reals({0, 0});
  CHECK(verdict_of(spread(zeros, {zeros}), reals({0, 1e-30}, ElementType::float32)).verdict == Verdict::not_rounding);
  CHECK(verdict_of(spread(zeros, {zeros}), reals({0, 0}, ElementType::float32)).verdict == Verdict::rounding);
}

TEST_CASE("numbers below the normal range may be flushed to zero") {
  const Tensor exact = reals({1e-40, -3e-42});
  CHECK(verdict_of(spread(exact, {exact}), reals({0, 0}, ElementType::float32)).verdict == Verdict::rounding);
  CHECK(verdict_of(spread(exact, {exact}), reals({1e-36, 0}, ElementType::float32)).verdict == Verdict::not_rounding);
  const Tensor half = reals({1.1e-7, 4e-8});
  CHECK(verdict_of(spread(half, {half}), reals({1.1e-7, 4e-8}, ElementType::float16)).verdict == Verdict::rounding);
}

TEST_CASE("NaN and infinity count where the exact answer has none") {
  const Spread all = around({1, 2, 3}, 0.01);
  CHECK(verdict_of(all, reals({1, not_a_number, 3})).verdict == Verdict::mismatch);
  CHECK(verdict_of(all, reals({1, infinity, 3})).verdict == Verdict::mismatch);
  CHECK(verdict_of(all, reals({1, 2, not_a_number})).why ==
        "NaN or infinity in 1 elements that are finite in the exact answer");
  const Tensor wild = reals({1, not_a_number, infinity, -infinity});
  CHECK(verdict_of(spread(wild, {wild}), reals({1, not_a_number, infinity, -infinity})).verdict == Verdict::rounding);
  CHECK(verdict_of(spread(wild, {wild}), reals({1, not_a_number, -infinity, -infinity})).verdict == Verdict::mismatch);
  CHECK(verdict_of(spread(wild, {wild}), reals({1, 0, infinity, -infinity})).verdict == Verdict::mismatch);
}

TEST_CASE("NaN and infinity that noise can bring about are flips") {
  const Spread all = spread(reals({1, 2}), {reals({1, not_a_number}), reals({1, -infinity})});
  const TensorVerdict found = verdict_of(all, reals({1, not_a_number}));
  CHECK(found.verdict == Verdict::rounding);
  CHECK(found.flips == 1);
  CHECK(verdict_of(all, reals({1, infinity})).verdict == Verdict::mismatch);
}

TEST_CASE("what a type cannot hold becomes infinite in it") {
  const Tensor exact = reals({1, 70'000});
  CHECK(verdict_of(spread(exact, {exact}), reals({1, infinity}, ElementType::float16)).verdict == Verdict::rounding);
  CHECK(verdict_of(spread(exact, {exact}), reals({1, -infinity}, ElementType::float16)).verdict == Verdict::mismatch);
  CHECK(verdict_of(spread(exact, {exact}), reals({1, infinity}, ElementType::float32)).verdict == Verdict::mismatch);
  const Tensor close = reals({1, 65'500}), beyond = reals({1, 65'525});
  CHECK(verdict_of(spread(close, {close}), reals({1, infinity}, ElementType::float16)).verdict == Verdict::mismatch);
  CHECK(verdict_of(spread(close, {beyond}), reals({1, infinity}, ElementType::float16)).verdict == Verdict::rounding);
}

TEST_CASE("integers differ by flips or wrongly") {
  const Tensor first = integers({1, 2, 3, 5}), second = integers({1, 9, 3, 4});
  const Spread all = spread(integers({1, 2, 3, 4}), {first, second, first, second});
  CHECK(verdict_of(all, integers({1, 2, 3, 4})).verdict == Verdict::identical);
  const TensorVerdict flipped = verdict_of(all, integers({1, 7, 3, 4}));
  CHECK(flipped.verdict == Verdict::undecidable);
  CHECK(flipped.flips == 1);
  const TensorVerdict wrong = verdict_of(all, integers({2, 7, 4, 4}));
  CHECK(wrong.verdict == Verdict::not_rounding);
  CHECK(wrong.flips == 1);
  CHECK(wrong.in_doubt);
  CHECK(wrong.why == "3 of 4 elements differ, 1 of them can be flipped by rounding");
}

TEST_CASE("as many elements may differ that no sample flips as one sample flips alone") {
  // Each of four samples flips four elements of its own; so may the compared one, with four standard deviations more.
  const std::vector<std::int64_t> exact(1000, 1);
  Spread all{Value(integers(exact)), {}};
  const auto flipped = [&](std::size_t first, std::size_t count) {
    std::vector<std::int64_t> values = exact;
    for (std::size_t i = first; i < first + count; ++i) values[i] = 2;
    return integers(values);
  };
  for (std::size_t sample = 0; sample < 4; ++sample) all.samples.emplace_back(flipped(10 * sample, 4));
  const TensorVerdict honest = verdict_of(all, flipped(500, 12));
  CHECK(honest.verdict == Verdict::undecidable);
  CHECK(honest.flips == 12);
  CHECK(verdict_of(all, flipped(500, 13)).verdict == Verdict::not_rounding);
  CHECK_FALSE(verdict_of(all, flipped(500, 100)).in_doubt);
  // Where no sample flips anything nothing may differ; where some does, one element.
  const Tensor same = integers(exact);
  CHECK(verdict_of(spread(same, {same, same}), flipped(7, 1)).verdict == Verdict::not_rounding);
  Spread doubled = spread(same, {same, same, flipped(3, 2)});
  doubled.amplified = 1;
  CHECK(verdict_of(doubled, flipped(7, 1)).verdict == Verdict::undecidable);
  CHECK(verdict_of(doubled, flipped(7, 2)).verdict == Verdict::not_rounding);
}

TEST_CASE("booleans, unsigned numbers and small floats are discrete, too") {
  const auto flags = [](std::vector<std::uint64_t> values) { return encoded(ElementType::uint8, values); };
  CHECK(verdict_of(spread(flags({1, 255}), {flags({1, 254})}), flags({1, 254})).verdict == Verdict::undecidable);
  CHECK(verdict_of(spread(flags({1, 255}), {flags({1, 255})}), flags({1, 254})).verdict == Verdict::not_rounding);
  const Tensor yes = *Tensor::from_bytes(ElementType::boolean, {1}, {std::byte{1}});
  const Tensor no = *Tensor::from_bytes(ElementType::boolean, {1}, {std::byte{0}});
  CHECK(verdict_of(spread(yes, {no}), no).verdict == Verdict::undecidable);
  CHECK(verdict_of(spread(yes, {yes}), no).verdict == Verdict::not_rounding);
  const auto small = [](std::vector<double> values) { return reals(values, ElementType::float8e4m3fn); };
  CHECK(verdict_of(spread(small({1, 2}), {small({1, 2.25})}), small({1, 2.25})).verdict == Verdict::undecidable);
  CHECK(verdict_of(spread(small({1, 2}), {small({1, 2})}), small({1, 2.25})).verdict == Verdict::not_rounding);
  CHECK(verdict_of(spread(small({1, not_a_number})), small({1, not_a_number})).verdict == Verdict::identical);
}

TEST_CASE("strings are the same, flipped or other") {
  const Spread all = spread(words({"a", "b"}), {words({"a", "c"})});
  CHECK(verdict_of(all, words({"a", "b"})).verdict == Verdict::identical);
  CHECK(verdict_of(all, words({"a", "d"})).verdict == Verdict::undecidable);
  CHECK(verdict_of(all, words({"x", "b"})).verdict == Verdict::undecidable);
  const Spread firm = spread(words({"a", "b"}), {words({"a", "b"})});
  CHECK(verdict_of(firm, words({"x", "b"})).verdict == Verdict::not_rounding);
}

TEST_CASE("complex numbers are compared by their parts") {
  const Tensor exact = complexes({{1, 2}, {3, 4}});
  const Spread all = spread(exact, {complexes({{1.01F, 2.01F}, {2.99F, 3.99F}})});
  CHECK(verdict_of(all, complexes({{1.01F, 2}, {3, 4.01F}})).verdict == Verdict::rounding);
  CHECK(verdict_of(all, complexes({{1, 2}, {3, 4.5F}})).verdict == Verdict::not_rounding);
}

TEST_CASE("another shape is a mismatch unless noise can bring it about") {
  const Spread all = around({1, 2, 3}, 0.01);
  const TensorVerdict found = verdict_of(all, reals({1, 2}));
  CHECK(found.verdict == Verdict::mismatch);
  CHECK(found.why == "the shape is [2] instead of [3]");
  const Spread varying = spread(integers({1, 2, 3}), {integers({1, 2}), integers({1, 2, 3})});
  CHECK(verdict_of(varying, integers({5, 6})).verdict == Verdict::not_rounding);
  CHECK(verdict_of(varying, integers({1, 2})).verdict == Verdict::undecidable);
  CHECK(verdict_of(varying, integers({1, 2, 4})).verdict == Verdict::undecidable);
}

namespace {

/// Boxes [n, 4], each a corner and the same a little further.
Tensor boxes(const std::vector<double>& corners, double factor = 1) {
  std::vector<double> numbers;
  for (const double corner : corners) {
    for (const double by : {0.0, 1.5, 10.25, 20.125}) numbers.push_back((corner + by) * factor);
  }
  return encoded(ElementType::float64, {static_cast<std::int64_t>(corners.size()), 4}, numbers);
}

/// Four boxes, the third of which one sample lacks; the numbers have errors of 1e-5.
Spread detector() {
  return spread(boxes({10, 50, 90, 130}), {boxes({10, 50, 90, 130}, 1 + 1e-6), boxes({10, 50, 130}, 1 - 1e-6),
                                           boxes({10, 50, 90, 130}, 1 - 2e-6), boxes({10, 50, 90, 130}, 1 + 2e-6)});
}

}  // namespace

TEST_CASE("rows that rounding can drop leave the others to be compared") {
  const auto found = [](const Tensor& got) { return verdict_of(detector(), got); };
  CHECK(found(boxes({10, 50, 90, 130}, 1 + 1e-6)).verdict == Verdict::rounding);
  CHECK(found(boxes({10, 50, 130}, 1 + 1e-6)).verdict == Verdict::undecidable);
  CHECK(found(boxes({10, 50, 130}, 1 + 1e-6)).why ==
        "along axis 0, 3 of 4 rows have a counterpart; 1 is missing, 0 are new, which rounding can change; rows that "
        "have "
        "one are within rounding");
  CHECK(found(boxes({130, 10, 50}, 1 + 1e-6)).verdict == Verdict::undecidable);
  for (const double factor : {100.0, 1.1, 1.01, 1.0001}) {
    CAPTURE(factor);
    CHECK(found(boxes({10, 50, 90, 130}, factor)).verdict == Verdict::not_rounding);
    CHECK(found(boxes({10, 50, 130}, factor)).verdict == Verdict::not_rounding);
  }
  CHECK(found(boxes({10, 50, 90, 130}, 1 + 5e-5)).verdict == Verdict::not_rounding);  // matching rows, too far off
  CHECK(found(boxes({10})).verdict == Verdict::not_rounding);
  CHECK(found(boxes({10, 50, 90, 130, 170, 210})).verdict == Verdict::not_rounding);
  CHECK(found(reals({10, 50, 90, 130})).verdict == Verdict::mismatch);
}

TEST_CASE("rows are judged where both sides have a shape that the exact answer has not") {
  const Tensor base = boxes({10, 50, 130}), wrong = boxes({10, 50, 130}, 1.01);
  const Tensor near = boxes({10, 50, 130}, 1 + 1e-6);
  CHECK(verdict_of(detector(), near, &base).verdict == Verdict::rounding);
  CHECK(verdict_of(detector(), wrong, &base).verdict == Verdict::not_rounding);
}

TEST_CASE("rows that are nearly the same have a counterpart each") {
  const auto twins = [](double factor, std::size_t count) { return boxes(std::vector<double>(count, 10), factor); };
  const Spread all =
      spread(twins(1, 3), {twins(1 + 1e-6, 3), twins(1 - 1e-6, 2), twins(1 - 2e-6, 3), twins(1 + 2e-6, 4)});
  CHECK(verdict_of(all, twins(1 + 1.5e-6, 3)).verdict == Verdict::rounding);
  CHECK(verdict_of(all, twins(1 + 1.5e-6, 4)).verdict == Verdict::undecidable);
  CHECK(verdict_of(all, twins(1.1, 3)).verdict == Verdict::not_rounding);
}

TEST_CASE("rows that both sides have and the exact answer has not are compared with each other") {
  const Spread none = spread(boxes({}), {boxes({10}), boxes({}), boxes({10}, 1 + 1e-6), boxes({})});
  const Tensor base = boxes({10});
  CHECK(verdict_of(none, boxes({10}, 1 + 1e-7), &base).verdict == Verdict::rounding);
  CHECK(verdict_of(none, boxes({10}, 1.1), &base).verdict == Verdict::not_rounding);
}

TEST_CASE("one row that rounding can drop does not excuse another row") {
  const Spread one = spread(boxes({10}), {boxes({10}, 1 + 1e-6), boxes({}), boxes({10}, 1 - 1e-6), boxes({10})});
  CHECK(verdict_of(one, boxes({})).verdict == Verdict::undecidable);
  CHECK(verdict_of(one, boxes({10}, 1 + 1e-6)).verdict == Verdict::rounding);
  CHECK(verdict_of(one, boxes({10}, 100)).verdict == Verdict::not_rounding);
}

TEST_CASE("a shape that rounding changes along two axes: equal shapes are compared, others are not") {
  const auto square = [](std::int64_t size, double number) {
    return encoded(ElementType::float64, {size, size},
                   std::vector<double>(static_cast<std::size_t>(size * size), number));
  };
  const Spread all = spread(square(3, 1), {square(3, 1.01), square(2, 1), square(3, 0.99), square(3, 1.01)});
  CHECK(verdict_of(all, square(3, 1.01)).verdict == Verdict::rounding);
  CHECK(verdict_of(all, square(3, 100)).verdict == Verdict::not_rounding);
  CHECK(verdict_of(all, square(2, 1)).verdict == Verdict::not_compared);
  CHECK(verdict_of(all, square(5, 1)).verdict == Verdict::mismatch);
}

TEST_CASE("the exact answer of a float64 model is a side of its own, as it is rounded to double, too") {
  const TensorVerdict found =
      comparison::verdict_of(around({1, 2, 3}, 1e-15), reals({1 + 1e-15, 2, 3}), Profile::float32);
  CHECK(found.verdict == Verdict::rounding);
  CHECK(found.floor.largest < 0.8);
  CHECK(comparison::verdict_of(around({1, 2, 3}, 1e-15), reals({1 + 1e-13, 2, 3}), Profile::float32).verdict ==
        Verdict::not_rounding);
}

TEST_CASE("against another backend's answer the floor is wider by the square root of two") {
  const Spread all = around({1, 2, 3, 4}, 0.01);
  const Tensor origin = reals({1.01, 2.01, 3.01, 4.01});
  const TensorVerdict found = verdict_of(all, reals({1.0, 2.0, 3.0, 4.0}), &origin);
  CHECK(found.verdict == Verdict::rounding);
  CHECK(found.floor.rms == doctest::Approx(1 / std::sqrt(2)));
  CHECK(verdict_of(all, reals({1.1, 2.1, 3.1, 4.1}), &origin).verdict == Verdict::not_rounding);
  const Tensor gaps = reals({1, not_a_number, 3, 4});
  CHECK(verdict_of(all, reals({1, not_a_number, 3, 4}), &gaps).verdict == Verdict::rounding);
  CHECK(verdict_of(all, reals({1, 2, 3, 4}), &gaps).verdict == Verdict::mismatch);
  const Tensor other = integers({5}), exact = integers({4});
  CHECK(verdict_of(spread(exact, {exact}), integers({5}), &other).verdict == Verdict::identical);
  CHECK(verdict_of(spread(exact, {exact}), integers({4}), &other).verdict == Verdict::not_rounding);
}

TEST_CASE("tensors without elements are the same") {
  const Tensor none = encoded(ElementType::float32, {0, 3}, std::vector<double>());
  CHECK(verdict_of(spread(encoded(ElementType::float64, {0, 3}, std::vector<double>())), none).verdict ==
        Verdict::rounding);
  CHECK(verdict_of(spread(integers({})), integers({})).verdict == Verdict::identical);
}

TEST_CASE("identical means bit for bit, all NaN being one") {
  const auto same = [](const Value& a, const Value& b) { return comparison::identical(a, b); };
  const Tensor x = reals({1, not_a_number, 0}), y = reals({1, -not_a_number, 0}), z = reals({1, not_a_number, -0.0});
  CHECK(same(x, y));
  CHECK_FALSE(same(x, z));
  CHECK_FALSE(same(x, reals({1, not_a_number, 0}, ElementType::float32)));
  CHECK_FALSE(same(integers({1, 2}), encoded(ElementType::int64, {2, 1}, std::vector<std::int64_t>{1, 2})));
  CHECK(same(words({"a"}), words({"a"})));
  CHECK_FALSE(same(words({"a"}), words({"b"})));
  CHECK(same(Value::sequence({Value(x)}), Value::sequence({Value(y)})));
  CHECK_FALSE(same(Value::sequence({Value(x)}), Value::sequence({Value(x), Value(x)})));
  CHECK_FALSE(same(Value::sequence({Value(x)}), Value::optional(Value(x))));
  CHECK(same(Value::map(integers({1}), x), Value::map(integers({1}), y)));
  CHECK_FALSE(same(Value::map(integers({1}), x), Value::map(integers({2}), x)));
  CHECK_FALSE(same(Value::map(integers({1}), x), Value::map(integers({1}), z)));
}

TEST_CASE("a row that is far more sensitive than the rest is compared with its own noise") {
  // One of many rows lies on the edge of a bucket: rounding moves it by 1, the others by 1e-3.
  std::vector<double> exact(400, 2), above = exact, below = exact, got = exact;
  for (std::size_t i = 0; i < exact.size(); ++i) above[i] += i == 7 ? 1 : 1e-3, below[i] -= i == 7 ? 1 : 1e-3;
  const Spread all = spread(reals(exact), {reals(above), reals(below)});
  got[7] += 1.5;
  const TensorVerdict sensitive = verdict_of(all, reals(got));
  CHECK(sensitive.verdict == Verdict::rounding);
  CHECK(sensitive.floor.largest == doctest::Approx(1.5));
  got[7] = 2;
  got[8] += 1.5;
  CHECK(verdict_of(all, reals(got)).verdict == Verdict::not_rounding);
}

}  // namespace onnxkit::tests::exec_judge
