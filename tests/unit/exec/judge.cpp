#include "libonnxkit/exec/judge.h"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "libonnxkit/base/dtype.h"

using namespace onnxkit;
using exec::Judgement;
using exec::Spread;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
Tensor tensor(ElementType type, const std::vector<T>& values, std::vector<std::int64_t> dims = {}) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::byte> bytes(*packed_size(type, count));
  encode(type, std::span<const T>(values), bytes);
  return *Tensor::from_bytes(type, dims.empty() ? std::vector{count} : std::move(dims), std::move(bytes));
}

Tensor reals(const std::vector<double>& values, ElementType type = ElementType::float64) {
  return tensor(type, values);
}

Tensor integers(const std::vector<std::int64_t>& values) { return tensor(ElementType::int64, values); }

Tensor complexes(const std::vector<std::complex<float>>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return *Tensor::from_bytes(ElementType::complex64, {static_cast<std::int64_t>(values.size())},
                             {bytes.begin(), bytes.end()});
}

Tensor strings(const std::vector<std::string>& values) {
  return *Tensor::from_strings({static_cast<std::int64_t>(values.size())}, values);
}

Spread spread(const Tensor& exact, const std::vector<Tensor>& replicas = {}) {
  Spread all{Value(exact), {}};
  for (const Tensor& replica : replicas) all.replicas.emplace_back(replica);
  return all;
}

/// Replicas that are `sigma` above and below the exact numbers.
Spread around(const std::vector<double>& exact, double sigma) {
  std::vector<double> above = exact, below = exact;
  for (double& x : above) x += sigma;
  for (double& x : below) x -= sigma;
  return spread(reals(exact), {reals(above), reals(below)});
}

Judgement judge(const Spread& all, const Tensor& got, const Tensor* origin = nullptr) {
  return exec::judge(all, got, Profile::float32, origin);
}

}  // namespace

TEST_CASE("a deviation is measured in standard deviations of the replicas") {
  const Spread all = around({1, 2, 3, 4}, 0.01);
  SUBCASE("one sigma everywhere is rounding") {
    const Judgement found = judge(all, reals({1.01, 1.99, 3.01, 3.99}));
    CHECK(found.verdict == Verdict::rounding);
    CHECK(found.floor.healthy);
    CHECK(found.floor.rms == doctest::Approx(1));
    CHECK(found.floor.largest == doctest::Approx(1));
  }
  SUBCASE("up to two by root mean square") {
    CHECK(judge(all, reals({1.0199, 2.0199, 3.0199, 4.0199})).verdict == Verdict::rounding);
    const Judgement found = judge(all, reals({1.021, 2.021, 3.021, 4.021}));
    CHECK(found.verdict == Verdict::not_rounding);
    CHECK_FALSE(found.floor.healthy);
    CHECK(found.floor.profile == Profile::float32);
  }
}

TEST_CASE("one element that is far off is seen among many that are exact") {
  std::vector<double> exact(10'000, 1), got = exact;
  got[1234] += 0.119;
  const Spread all = around(exact, 0.01);
  CHECK(judge(all, reals(got)).verdict == Verdict::rounding);
  got[1234] = 1.121;
  const Judgement found = judge(all, reals(got));
  CHECK(found.verdict == Verdict::not_rounding);
  CHECK(found.floor.rms < exec::healthy_rms);
  CHECK(found.floor.largest > exec::healthy_largest);
}

TEST_CASE("without noise only what storing rounds is allowed") {
  const Tensor exact = reals({1.0 / 3, 2.0 / 3});
  CHECK(judge(spread(exact, {exact}), reals({1.0 / 3, 2.0 / 3}, ElementType::float32)).verdict == Verdict::rounding);
  CHECK(judge(spread(exact, {exact}), reals({1.0 / 3, 0.6667}, ElementType::float32)).verdict == Verdict::not_rounding);
  CHECK(judge(spread(exact, {exact}), reals({0.3333, 0.6665}, ElementType::float16)).verdict == Verdict::rounding);
  const Tensor zeros = reals({0, 0});
  CHECK(judge(spread(zeros, {zeros}), reals({0, 1e-30}, ElementType::float32)).verdict == Verdict::not_rounding);
  CHECK(judge(spread(zeros, {zeros}), reals({0, 0}, ElementType::float32)).verdict == Verdict::rounding);
}

TEST_CASE("numbers below the normal range may be flushed to zero") {
  const Tensor exact = reals({1e-40, -3e-42});
  CHECK(judge(spread(exact, {exact}), reals({0, 0}, ElementType::float32)).verdict == Verdict::rounding);
  CHECK(judge(spread(exact, {exact}), reals({1e-36, 0}, ElementType::float32)).verdict == Verdict::not_rounding);
  const Tensor half = reals({1.1e-7, 4e-8});
  CHECK(judge(spread(half, {half}), reals({1.1e-7, 4e-8}, ElementType::float16)).verdict == Verdict::rounding);
}

TEST_CASE("NaN and infinity count where the exact answer has none") {
  const Spread all = around({1, 2, 3}, 0.01);
  CHECK(judge(all, reals({1, not_a_number, 3})).verdict == Verdict::mismatch);
  CHECK(judge(all, reals({1, infinity, 3})).verdict == Verdict::mismatch);
  CHECK(judge(all, reals({1, 2, not_a_number})).why == "NaN or infinity in 1 elements where the exact answer has none");
  const Tensor wild = reals({1, not_a_number, infinity, -infinity});
  CHECK(judge(spread(wild, {wild}), reals({1, not_a_number, infinity, -infinity})).verdict == Verdict::rounding);
  CHECK(judge(spread(wild, {wild}), reals({1, not_a_number, -infinity, -infinity})).verdict == Verdict::mismatch);
  CHECK(judge(spread(wild, {wild}), reals({1, 0, infinity, -infinity})).verdict == Verdict::mismatch);
}

TEST_CASE("NaN and infinity that noise can bring about are flips") {
  const Spread all = spread(reals({1, 2}), {reals({1, not_a_number}), reals({1, -infinity})});
  const Judgement found = judge(all, reals({1, not_a_number}));
  CHECK(found.verdict == Verdict::rounding);
  CHECK(found.flips == 1);
  CHECK(judge(all, reals({1, infinity})).verdict == Verdict::mismatch);
}

TEST_CASE("what a type cannot hold becomes infinite in it") {
  const Tensor exact = reals({1, 70'000});
  CHECK(judge(spread(exact, {exact}), reals({1, infinity}, ElementType::float16)).verdict == Verdict::rounding);
  CHECK(judge(spread(exact, {exact}), reals({1, -infinity}, ElementType::float16)).verdict == Verdict::mismatch);
  CHECK(judge(spread(exact, {exact}), reals({1, infinity}, ElementType::float32)).verdict == Verdict::mismatch);
  const Tensor close = reals({1, 65'500}), beyond = reals({1, 65'525});
  CHECK(judge(spread(close, {close}), reals({1, infinity}, ElementType::float16)).verdict == Verdict::mismatch);
  CHECK(judge(spread(close, {beyond}), reals({1, infinity}, ElementType::float16)).verdict == Verdict::rounding);
}

TEST_CASE("integers differ by flips or wrongly") {
  const Spread all = spread(integers({1, 2, 3, 4}), {integers({1, 2, 3, 5}), integers({1, 9, 3, 4})});
  CHECK(judge(all, integers({1, 2, 3, 4})).verdict == Verdict::identical);
  const Judgement flipped = judge(all, integers({1, 7, 3, 4}));
  CHECK(flipped.verdict == Verdict::undecidable);
  CHECK(flipped.flips == 1);
  const Judgement wrong = judge(all, integers({2, 7, 3, 4}));
  CHECK(wrong.verdict == Verdict::not_rounding);
  CHECK(wrong.flips == 1);
  CHECK(wrong.why == "2 of 4 elements differ, 1 of them can be flipped by rounding");
}

TEST_CASE("booleans, unsigned numbers and small floats are discrete, too") {
  const auto flags = [](std::vector<std::uint64_t> values) { return tensor(ElementType::uint8, values); };
  CHECK(judge(spread(flags({1, 255}), {flags({1, 254})}), flags({1, 254})).verdict == Verdict::undecidable);
  CHECK(judge(spread(flags({1, 255}), {flags({1, 255})}), flags({1, 254})).verdict == Verdict::not_rounding);
  const Tensor yes = *Tensor::from_bytes(ElementType::boolean, {1}, {std::byte{1}});
  const Tensor no = *Tensor::from_bytes(ElementType::boolean, {1}, {std::byte{0}});
  CHECK(judge(spread(yes, {no}), no).verdict == Verdict::undecidable);
  CHECK(judge(spread(yes, {yes}), no).verdict == Verdict::not_rounding);
  const auto small = [](std::vector<double> values) { return reals(values, ElementType::float8e4m3fn); };
  CHECK(judge(spread(small({1, 2}), {small({1, 2.25})}), small({1, 2.25})).verdict == Verdict::undecidable);
  CHECK(judge(spread(small({1, 2}), {small({1, 2})}), small({1, 2.25})).verdict == Verdict::not_rounding);
  CHECK(judge(spread(small({1, not_a_number})), small({1, not_a_number})).verdict == Verdict::identical);
}

TEST_CASE("strings are the same, flipped or other") {
  const Spread all = spread(strings({"a", "b"}), {strings({"a", "c"})});
  CHECK(judge(all, strings({"a", "b"})).verdict == Verdict::identical);
  CHECK(judge(all, strings({"a", "d"})).verdict == Verdict::undecidable);
  CHECK(judge(all, strings({"x", "b"})).verdict == Verdict::not_rounding);
}

TEST_CASE("complex numbers are judged by their parts") {
  const Tensor exact = complexes({{1, 2}, {3, 4}});
  const Spread all = spread(exact, {complexes({{1.01F, 2.01F}, {2.99F, 3.99F}})});
  CHECK(judge(all, complexes({{1.01F, 2}, {3, 4.01F}})).verdict == Verdict::rounding);
  CHECK(judge(all, complexes({{1, 2}, {3, 4.5F}})).verdict == Verdict::not_rounding);
}

TEST_CASE("another shape is a mismatch unless noise can bring it about") {
  const Spread all = around({1, 2, 3}, 0.01);
  const Judgement found = judge(all, reals({1, 2}));
  CHECK(found.verdict == Verdict::mismatch);
  CHECK(found.why == "the shape is [2] and should be [3]");
  const Spread varying = spread(integers({1, 2, 3}), {integers({1, 2}), integers({1, 2, 3})});
  CHECK(judge(varying, integers({5, 6})).verdict == Verdict::undecidable);
  CHECK(judge(varying, integers({1, 2, 4})).verdict == Verdict::undecidable);
}

TEST_CASE("against another backend's answer the floor is wider by the square root of two") {
  const Spread all = around({1, 2, 3, 4}, 0.01);
  const Tensor origin = reals({1.01, 2.01, 3.01, 4.01});
  const Judgement found = judge(all, reals({1.0, 2.0, 3.0, 4.0}), &origin);
  CHECK(found.verdict == Verdict::rounding);
  CHECK(found.floor.rms == doctest::Approx(1 / std::sqrt(2)));
  CHECK(judge(all, reals({1.045, 2.045, 3.045, 4.045}), &origin).verdict == Verdict::not_rounding);
  const Tensor gaps = reals({1, not_a_number, 3, 4});
  CHECK(judge(all, reals({1, not_a_number, 3, 4}), &gaps).verdict == Verdict::rounding);
  CHECK(judge(all, reals({1, 2, 3, 4}), &gaps).verdict == Verdict::mismatch);
  const Tensor other = integers({5}), exact = integers({4});
  CHECK(judge(spread(exact, {exact}), integers({5}), &other).verdict == Verdict::identical);
  CHECK(judge(spread(exact, {exact}), integers({4}), &other).verdict == Verdict::not_rounding);
}

TEST_CASE("tensors without elements are the same") {
  const Tensor none = tensor(ElementType::float32, std::vector<double>(), {0, 3});
  CHECK(judge(spread(tensor(ElementType::float64, std::vector<double>(), {0, 3})), none).verdict == Verdict::rounding);
  CHECK(judge(spread(integers({})), integers({})).verdict == Verdict::identical);
}

TEST_CASE("identical means bit for bit, all NaN being one") {
  const auto same = [](const Value& a, const Value& b) { return exec::identical(a, b); };
  const Tensor x = reals({1, not_a_number, 0}), y = reals({1, -not_a_number, 0}), z = reals({1, not_a_number, -0.0});
  CHECK(same(x, y));
  CHECK_FALSE(same(x, z));
  CHECK_FALSE(same(x, reals({1, not_a_number, 0}, ElementType::float32)));
  CHECK_FALSE(same(integers({1, 2}), tensor(ElementType::int64, std::vector<std::int64_t>{1, 2}, {2, 1})));
  CHECK(same(strings({"a"}), strings({"a"})));
  CHECK_FALSE(same(strings({"a"}), strings({"b"})));
  CHECK(same(Value::sequence({Value(x)}), Value::sequence({Value(y)})));
  CHECK_FALSE(same(Value::sequence({Value(x)}), Value::sequence({Value(x), Value(x)})));
  CHECK_FALSE(same(Value::sequence({Value(x)}), Value::optional(Value(x))));
  CHECK(same(Value::map(integers({1}), x), Value::map(integers({1}), y)));
  CHECK_FALSE(same(Value::map(integers({1}), x), Value::map(integers({2}), x)));
  CHECK_FALSE(same(Value::map(integers({1}), x), Value::map(integers({1}), z)));
}

TEST_CASE("a row that is far more sensitive than the rest is held against its own noise") {
  // One of many rows lies on the edge of a bucket: rounding moves it by 1, the others by 1e-3.
  std::vector<double> exact(400, 2), above = exact, below = exact, got = exact;
  for (std::size_t i = 0; i < exact.size(); ++i) above[i] += i == 7 ? 1 : 1e-3, below[i] -= i == 7 ? 1 : 1e-3;
  const Spread all = spread(reals(exact), {reals(above), reals(below)});
  got[7] += 1.5;
  const Judgement sensitive = judge(all, reals(got));
  CHECK(sensitive.verdict == Verdict::rounding);
  CHECK(sensitive.floor.largest == doctest::Approx(1.5));
  got[7] = 2;
  got[8] += 1.5;
  CHECK(judge(all, reals(got)).verdict == Verdict::not_rounding);
}
