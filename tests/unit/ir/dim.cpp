#include "libonnxkit/ir/dim/dim.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/unit/sample.h"

namespace onnxkit::tests::ir_dim {

using ir::Dim;
using ir::DimPool;
using ir::SymbolOrigin;

namespace {

/// What the pool makes of a text, printed again.
std::string simplified(std::string_view text) {
  DimPool pool;
  const std::optional<Dim> d = pool.parse(text);
  return d ? pool.to_string(*d) : "no expression";
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

}  // namespace

TEST_CASE("equal expressions are one") {
  DimPool pool;
  const Dim n = pool.named("N"), m = pool.named("M");
  CHECK(n == pool.named("N"));
  CHECK_FALSE(n == m);
  CHECK(pool.add(n, m) == pool.add(m, n));
  CHECK(pool.mul(pool.add(n, 1), pool.sub(n, 1)) == pool.sub(pool.mul(n, n), 1));
  CHECK(pool.sub(pool.add(n, 5), n).is(5));
  CHECK_FALSE(Dim() == Dim());
  CHECK(pool.add(n, Dim()).is_unknown());
}

TEST_CASE("simplification and printing") {
  const std::pair<const char*, const char*> cases[] = {
      {"N*12", "12*N"},
      {"1 + 2*H", "2*H + 1"},
      {"1 - N", "1 - N"},
      {"-N - 1", "-N - 1"},
      {"(2*H + 5)//2", "H + 2"},
      {"(H - 1)//2 + 1", "(H + 1)//2"},
      {"((H - 1)//2 + 1 - 1)//2 + 1", "(H + 3)//4"},
      {"(H//2)//3", "H//6"},
      {"(2*H + 1)//4", "H//2"},
      {"(6*N*M)//(2*N)", "3*M"},
      {"(N*M + N)//(M + 1)", "N"},
      {"-((-H)//2)", "(H + 1)//2"},
      {"-(H//2)", "-(H//2)"},
      {"2*(H//2)", "2*(H//2)"},
      {"N - N//2", "N - N//2"},
      {"2*(H//2) + H%2", "H"},
      {"H - H%4", "4*(H//4)"},
      {"N + (-N)%8", "8*((N + 7)//8)"},
      {"(H%8)//8", "0"},
      {"max(0, N)", "N"},
      {"max(1, N + 1)", "N + 1"},
      {"max(1, N)", "max(N, 1)"},
      {"min(N, N + 3)", "N"},
      {"min(N, 5)", "min(N, 5)"},
      {"min(5, N)", "min(N, 5)"},
      {"N - min(N, 2)", "max(N - 2, 0)"},
      {"max(max(N - 1, 0) - 1, 0)", "max(N - 2, 0)"},
      {"min(a, b) + max(a, b)", "a + b"},
      {"max(2*N - 4, 0)", "2*max(N - 2, 0)"},
      {"min(N, 5)//2", "min(N, 5)//2"},
      {"(B*S*768)//(B*S*12)", "64"},
      {"7//2", "3"},
      {"-7//2", "-4"},
      {"-7 % 3", "2"},
      {"N//M", "N//M"},
      {"(N*M + 3)//M", "N + 3//M"},
      {"N//(M - 1)", "no expression"},
      {"N//0", "no expression"},
      {"9223372036854775807 + 1", "no expression"},
      {"9223372036854775808", "no expression"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.first);
    CHECK(simplified(test.first) == test.second);
  }
}

TEST_CASE("what exporters write as dim_param") {
  const std::pair<const char*, const char*> expressions[] = {
      {"s0", "s0"},
      {"2*s0", "2*s0"},
      {"s27 - 1", "s27 - 1"},
      {"(s0//2)", "s0//2"},
      {"((s0 - 1)//2) + 1", "(s0 + 1)//2"},
      {"floor(s0/2)", "s0//2"},
      {"floor(s0/2 + 1/2)", "(s0 + 1)//2"},
      {"floor(s0/2 - 1/2) + 1", "(s0 + 1)//2"},
      {"ceiling(s0/2)", "(s0 + 1)//2"},
      {"Max(1, s0)", "max(s0, 1)"},
      {"Mod(s0, 2) + 2*FloorDiv(s0, 2)", "s0"},
      {"s0**2 + 2*s0 + 1", "s0*s0 + 2*s0 + 1"},
      {"(4*s0)/2", "2*s0"},
      {"unk__12", "unk__12"},
      {"Reshapeinput_dim_0", "Reshapeinput_dim_0"},
      {"past_sequence_length + sequence_length", "past_sequence_length + sequence_length"},
      {"input:0", "input:0"},
      {"a.b", "a.b"},
  };
  for (const auto& test : expressions) {
    CAPTURE(test.first);
    CHECK(simplified(test.first) == test.second);
  }
  for (const char* name : {"batch size", "Transpose/x_dim_1", "layer/2", "seq-len", "dim-1", "dynamic_axes[0]",
                           "unk__1?", "1st", "f(x)", "N +", "(N", "N)", "0.5*N", "a,b", "*", "min()", "-"}) {
    CAPTURE(name);
    DimPool pool;
    CHECK_FALSE(pool.parse(name).has_value());
    const Dim symbol = pool.from_dim_param(name);
    CHECK(symbol == pool.named(name));
    CHECK(pool.to_string(symbol) == name);
  }
  DimPool pool;
  CHECK(pool.from_dim_param("?").is_unknown());
  CHECK(pool.from_dim_param("").is_unknown());
}

TEST_CASE("odd names survive printing and parsing") {
  for (const char* name : {"batch size", "2*N", "7", "a\"b\\c", "?", " N", "seq-len", "min(a, b)", ""}) {
    CAPTURE(name);
    DimPool pool;
    const Dim symbol = pool.named(name);
    CHECK(pool.from_dim_param(pool.to_string(symbol)) == symbol);
    const Dim sum = pool.add(pool.mul(symbol, 2), 1);
    CHECK(pool.parse(pool.to_string(sum)) == sum);
  }
}

TEST_CASE("bounds") {
  DimPool pool;
  const auto bounds = [&pool](std::string_view text) {
    const Dim d = pool.parse(text).value();
    return std::pair(pool.lower_bound(d), pool.upper_bound(d));
  };
  using Bounds = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;
  CHECK(bounds("N + 3") == Bounds(3, std::nullopt));
  CHECK(bounds("5 - N*M") == Bounds(std::nullopt, 5));
  CHECK(bounds("N % 8") == Bounds(0, 7));
  CHECK(bounds("min(N, 5)") == Bounds(0, 5));
  CHECK(bounds("max(N, 3)") == Bounds(3, std::nullopt));
  CHECK(bounds("N - N//2") == Bounds(0, std::nullopt));
  CHECK(bounds("M*min(N, 5) + 1") == Bounds(1, std::nullopt));
  CHECK(bounds("(N % 8)//3") == Bounds(0, 2));
  CHECK(bounds("N - M") == Bounds(std::nullopt, std::nullopt));
  const Dim any = pool.fresh("value", SymbolOrigin::data_dependent, "read from a tensor", false);
  CHECK_FALSE(pool.lower_bound(any).has_value());
  CHECK(pool.lower_bound(pool.max(any, 1)) == 1);
}

TEST_CASE("comparison") {
  DimPool pool;
  const Dim n = pool.named("N"), m = pool.named("M");
  CHECK(pool.never_equal(pool.add(n, 1), n));
  CHECK(pool.never_equal(pool.add(n, 1), 0));
  CHECK(pool.never_equal(pool.mul(n, 2), pool.add(pool.mul(m, 2), 1)));
  CHECK_FALSE(pool.never_equal(n, m));
  CHECK_FALSE(pool.never_equal(n, 0));
  CHECK_FALSE(pool.never_equal(Dim(), 3));
  CHECK(pool.always_at_least(pool.add(n, m), n));
  CHECK_FALSE(pool.always_at_least(n, m));
  const Dim product = pool.mul(n, m);
  CHECK(pool.at_least_unless_empty(pool.mul(product, 8), pool.add(n, 7)));
  CHECK_FALSE(pool.always_at_least(pool.mul(product, 8), pool.add(n, 7)));
  CHECK_FALSE(pool.at_least_unless_empty(pool.mul(product, 8), pool.add(n, 8)));
  CHECK(pool.at_least_unless_empty(pool.mul(n, 2), pool.add(pool.floor_div(n, 2), 1)));
  CHECK_FALSE(pool.at_least_unless_empty(pool.floor_div(n, 2), 1));
}

TEST_CASE("exact division") {
  DimPool pool;
  const auto quotient = [&pool](std::string_view a, std::string_view b) {
    const std::optional<Dim> q = pool.exact_div(pool.parse(a).value(), pool.parse(b).value());
    return q ? pool.to_string(*q) : "no";
  };
  CHECK(quotient("4*H*W", "H*2") == "2*W");
  CHECK(quotient("B*S*768", "B*S*12") == "64");
  CHECK(quotient("N*M + 2*N + M + 2", "M + 2") == "N + 1");
  CHECK(quotient("C*(H//2)", "H//2") == "C");
  CHECK(quotient("N", "0") == "no");
  CHECK(quotient("N", "2") == "no");
  CHECK(quotient("N + 1", "N") == "no");
  CHECK(quotient("0", "N") == "0");
}

TEST_CASE("broadcasting") {
  CHECK(simplified("broadcast(N, 1)") == "N");
  CHECK(simplified("broadcast(N, N)") == "N");
  CHECK(simplified("broadcast(N, 4)") == "4");
  CHECK(simplified("broadcast(2*N, M)") == "2*N");
  CHECK(simplified("broadcast(N, min(N, 64))") == "N");
  CHECK(simplified("broadcast(N, M + 2)") == "M + 2");
  CHECK(simplified("broadcast(2, 3)") == "no expression");
  CHECK(simplified("broadcast(N, min(N, 512))") == "N");
  CHECK(simplified("broadcast(min(N, 512), M)") == "broadcast(min(N, 512), M)");
  CHECK(simplified("broadcast(N, M) - broadcast(M, N)") == "0");
  CHECK(simplified("broadcast(broadcast(N, M), N)") == "broadcast(N, M)");
  CHECK(simplified("broadcast(broadcast(N, M), broadcast(M, K)) - broadcast(K, M, N)") == "0");
  DimPool pool;
  const Dim d = pool.parse("broadcast(N, M) + 1").value();
  CHECK(pool.lower_bound(d) == 1);
  CHECK(pool.evaluate(d, [](std::string_view name) { return name == "N" ? 1 : 5; }) == 6);
  CHECK_FALSE(pool.evaluate(d, [](std::string_view name) { return name == "N" ? 2 : 5; }).has_value());
}

TEST_CASE("symbols") {
  DimPool pool;
  pool.bind("N", 8);
  CHECK(pool.named("N").is(8));
  CHECK(pool.from_dim_param("2*N + 1").is(17));
  const Dim first = pool.fresh("nonzero", SymbolOrigin::data_dependent, "why");
  const Dim second = pool.fresh("nonzero", SymbolOrigin::lost, "");
  CHECK(pool.to_string(first) == "nonzero");
  CHECK(pool.to_string(second) == "nonzero_2");
  const Dim both = pool.max(pool.mul(first, 2), pool.floor_div(second, 2));
  CHECK(pool.symbols_in(both).size() == 2);
  CHECK(pool.has_origin(both, SymbolOrigin::lost));
  CHECK_FALSE(pool.has_origin(both, SymbolOrigin::input));
  CHECK(pool.symbol(pool.symbols_in(first).front()).reason == "why");
}

TEST_CASE("hostile expressions end as unknown") {
  DimPool pool;
  const Dim big = INT64_MAX;
  CHECK(pool.add(big, 1).is_unknown());
  CHECK(pool.mul(big, 2).is_unknown());
  CHECK(pool.floor_div(INT64_MIN, -1).is_unknown());
  CHECK(pool.sub(0, INT64_MIN).is_unknown());
  CHECK(pool.floor_div(pool.add(pool.named("N"), INT64_MIN), -1).is_unknown());
  // The constant part is split without leaving 64 bits: INT64_MIN = 3 * -3074457345618258603 + 1.
  const Dim third = pool.floor_div(pool.add(pool.named("N"), INT64_MIN), 3);
  CHECK(third == pool.add(pool.floor_div(pool.add(pool.named("N"), 1), 3), -3074457345618258603));
  Dim sum = 0, power = 1, nested = pool.named("M");
  for (int i = 0; i < 200; ++i) {
    const Dim x = pool.named("x" + std::to_string(i));
    sum = pool.add(sum, x);
    power = pool.mul(power, x);
    nested = pool.max(pool.floor_div(pool.mul(pool.add(nested, 1), 3), 2), x);
  }
  CHECK(sum.is_unknown());
  CHECK(power.is_unknown());
  CHECK(nested.is_unknown());
  CHECK_FALSE(pool.parse(std::string(1000, '(') + "N" + std::string(1000, ')')).has_value());
  CHECK_FALSE(pool.parse(std::string(1000, '-')).has_value());
  CHECK_FALSE(pool.parse(std::string(1000000, '1')).has_value());
}

namespace {

/// An expression built twice: by the pool, and by plain arithmetic on values of the symbols.
struct Sample {
  Dim dim;
  std::vector<std::int64_t> values;
};

class RandomExpressions {
 public:
  static constexpr std::size_t assignments = 40;

  explicit RandomExpressions(std::uint32_t seed) : random_(seed) {
    for (auto& [name, values] : symbols_) {
      for (std::size_t i = 0; i < assignments; ++i) values.push_back(random(0, i < 10 ? 3 : 50));
    }
  }

  Sample make(int depth) {
    if (depth == 0 || random(0, 6) == 0) return leaf();
    const Sample a = make(depth - 1), b = make(depth - 1);
    switch (random(0, 8)) {
      case 0:
        return combine(a, b, pool.add(a.dim, b.dim), [](auto x, auto y) { return x + y; });
      case 1:
        return combine(a, b, pool.sub(a.dim, b.dim), [](auto x, auto y) { return x - y; });
      case 2:
        return combine(a, b, pool.mul(a.dim, b.dim), [](auto x, auto y) { return x * y; });
      case 3:
        return combine(a, b, pool.min(a.dim, b.dim), [](auto x, auto y) { return std::min(x, y); });
      case 4:
        return combine(a, b, pool.max(a.dim, b.dim), [](auto x, auto y) { return std::max(x, y); });
      default:
        break;
    }
    // A divisor that is never 0, sometimes negative and sometimes symbolic.
    Sample d = constant(random(1, 6));
    if (random(0, 2) == 0) d = positive(d);
    if (random(0, 5) == 0) d = constant(-3);
    switch (random(0, 2)) {
      case 0:
        return combine(a, d, pool.floor_div(a.dim, d.dim), floor_div);
      case 1:
        return combine(a, d, pool.ceil_div(a.dim, d.dim), [](auto x, auto y) { return -floor_div(-x, y); });
      default:
        return combine(a, d, pool.mod(a.dim, d.dim), [](auto x, auto y) { return x - y * floor_div(x, y); });
    }
  }

  std::optional<std::int64_t> value(Dim d, std::size_t assignment) const {
    return pool.evaluate(d, [&](std::string_view name) { return symbols_.find(name)->second[assignment]; });
  }

  DimPool pool;

 private:
  std::int64_t random(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  Sample constant(std::int64_t c) { return {c, std::vector<std::int64_t>(assignments, c)}; }

  Sample leaf() {
    if (random(0, 2) == 0) return constant(random(-6, 12));
    const auto it = std::next(symbols_.begin(), random(0, static_cast<std::int64_t>(symbols_.size()) - 1));
    return {pool.named(it->first), it->second};
  }

  Sample positive(const Sample& least) {
    const Sample x = leaf();
    const Dim d = pool.add(pool.max(x.dim, 0), least.dim);
    return combine(x, least, d, [](auto a, auto b) { return std::max<std::int64_t>(a, 0) + b; });
  }

  template <typename F>
  Sample combine(const Sample& a, const Sample& b, Dim d, F f) {
    Sample result{d, {}};
    for (std::size_t i = 0; i < assignments; ++i) result.values.push_back(f(a.values[i], b.values[i]));
    return result;
  }

  std::mt19937 random_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> symbols_ = {{"H", {}}, {"N", {}}, {"odd name", {}}};
};

}  // namespace

TEST_CASE("simplified expressions keep their value, bounds and text") {
  constexpr std::uint32_t seeds = sampled(5000, 1000);
  std::uint32_t known = 0;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    RandomExpressions expressions(seed);
    const Sample sample = expressions.make(1 + static_cast<int>(seed % 4));
    if (sample.dim.is_unknown()) continue;
    ++known;
    const std::string text = expressions.pool.to_string(sample.dim);
    CAPTURE(seed);
    CAPTURE(text);
    CHECK(expressions.pool.from_dim_param(text) == sample.dim);
    const auto low = expressions.pool.lower_bound(sample.dim), high = expressions.pool.upper_bound(sample.dim);
    for (std::size_t i = 0; i < RandomExpressions::assignments; ++i) {
      REQUIRE(expressions.value(sample.dim, i) == sample.values[i]);
      if (low) REQUIRE(*low <= sample.values[i]);
      if (high) REQUIRE(*high >= sample.values[i]);
    }
  }
  CHECK(known > seeds / 5 * 4);
}

}  // namespace onnxkit::tests::ir_dim
