#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/small_float.h"

namespace onnxkit::tests::base_dtype_float {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Small {
  ElementType type;
  SmallFloatFormat format;
};
constexpr Small small_types[] = {
    {ElementType::float16, half_format},
    {ElementType::bfloat16, bfloat16_format},
    {ElementType::float8e4m3fn, float8e4m3fn_format},
    {ElementType::float8e4m3fnuz, float8e4m3fnuz_format},
    {ElementType::float8e5m2, float8e5m2_format},
    {ElementType::float8e5m2fnuz, float8e5m2fnuz_format},
    {ElementType::float6e2m3, float6e2m3_format},
    {ElementType::float6e3m2, float6e3m2_format},
    {ElementType::float4e2m1, float4e2m1_format},
};

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

std::size_t code_at(const std::vector<std::byte>& bytes, std::size_t index, int bits) {
  std::size_t code = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const std::size_t at = index * static_cast<std::size_t>(bits) + static_cast<std::size_t>(bit);
    if ((bytes[at / 8] >> (at % 8) & std::byte{1}) != std::byte{0}) code |= std::size_t{1} << bit;
  }
  return code;
}

/// Finite numbers from 0 up, in the order of their codes.
std::vector<double> magnitudes(const Small& small) {
  std::vector<double> values;
  const std::uint32_t codes = 1u << (storage_bits(small.type) - 1);
  for (std::uint32_t code = 0; code < codes; ++code) {
    const double value = small_float_value(code, small.format);
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

/// The limit of the magnitudes that round to the largest number: half way to where the next one would be.
double overflow_limit(const std::vector<double>& values) {
  return values.back() + (values.back() - values[values.size() - 2]) / 2;
}

/// By search among all numbers of the type; the middle between two neighbours is exact in double.
double nearest(const std::vector<double>& values, double magnitude, double overflow) {
  const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  if (above == values.end()) {
    const double limit = overflow_limit(values);
    const bool last_is_even = values.size() % 2 == 1;
    return magnitude < limit || (magnitude == limit && last_is_even) ? values.back() : overflow;
  }
  if (*above == magnitude) return magnitude;
  const auto below = above - 1;
  const double middle = (*below + *above) / 2;
  if (magnitude != middle) return magnitude < middle ? *below : *above;
  return (below - values.begin()) % 2 == 0 ? *below : *above;
}

double signed_like(const Small& small, double magnitude, bool negative) {
  if (small.format.special == SpecialValues::zero && magnitude == 0) return 0.0;
  return negative ? -magnitude : magnitude;
}

/// What the specification says becomes of a number out of range.
double overflow_of(const Small& small, bool saturate, double largest) {
  const bool wide = storage_bits(small.type) == 16;
  if (small.format.special == SpecialValues::finite || (saturate && !wide)) return largest;
  return small.format.special == SpecialValues::ieee ? inf : not_a_number;
}

}  // namespace

TEST_CASE("every code of a small float decodes to its number and encodes back") {
  for (const Small& small : small_types) {
    CAPTURE(name_of(small.type));
    const int bits = storage_bits(small.type);
    const std::size_t count = std::size_t{1} << bits;
    std::vector<std::byte> bytes(packed_size(small.type, static_cast<std::int64_t>(count)).value());
    for (std::size_t code = 0; code < count; ++code) {
      for (int bit = 0; bit < bits; ++bit) {
        const std::size_t at = code * static_cast<std::size_t>(bits) + static_cast<std::size_t>(bit);
        if ((code >> bit & 1) != 0) bytes[at / 8] |= std::byte{1} << (at % 8);
      }
    }
    std::vector<double> values(count);
    decode(small.type, bytes, std::span(values));
    bool decoded = true;
    for (std::size_t code = 0; code < count; ++code) {
      decoded = decoded && same(values[code], small_float_value(static_cast<std::uint32_t>(code), small.format));
    }
    CHECK(decoded);

    std::vector<std::byte> back(bytes.size(), std::byte{0xff});
    encode(small.type, std::span<const double>(values), back);
    std::vector<double> again(count);
    decode(small.type, back, std::span(again));
    bool kept = true, same_sign = true;
    for (std::size_t code = 0; code < count; ++code) {
      kept = kept && same(values[code], again[code]);
      same_sign = same_sign && std::signbit(values[code]) == std::signbit(again[code]);
    }
    CHECK(kept);
    CHECK(same_sign);
    // A signalling NaN becomes quiet, all else stays bit by bit.
    int changed = 0;
    const std::size_t quiet = std::size_t{1} << (small.format.mantissa_bits - 1);
    for (std::size_t code = 0; code < count; ++code) {
      const bool signalling =
          small.format.special == SpecialValues::ieee && std::isnan(values[code]) && (code & quiet) == 0;
      if (code_at(back, code, bits) != (signalling ? code | quiet : code)) ++changed;
    }
    CHECK(changed == 0);

    std::vector<double> rounded = values;
    round_to(small.type, std::span(rounded), {.saturate = false});
    CHECK(std::equal(rounded.begin(), rounded.end(), values.begin(), same));
  }
}

TEST_CASE("numbers, ties and their neighbours round to the nearest, ties to even") {
  for (const Small& small : small_types) {
    CAPTURE(name_of(small.type));
    const std::vector<double> values = magnitudes(small);
    CHECK(largest_finite(small.type) == values.back());
    std::vector<double> inputs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double next = i + 1 < values.size() ? values[i + 1] : 2 * values[i] - values[i - 1];
      const double middle = (values[i] + next) / 2;
      for (const double x : {values[i], middle}) {
        for (const double y : {std::nextafter(x, 0.0), x, std::nextafter(x, inf)}) inputs.push_back(y);
      }
      inputs.push_back(middle + (next - values[i]) / 1024);
    }
    for (const double x : {0.0, 1e-310, 1e-45, 1e-40, 3e38, 1e300, std::numeric_limits<double>::max(), inf}) {
      inputs.push_back(x);
    }
    int wrong = 0;
    for (const double magnitude : inputs) {
      for (const bool negative : {false, true}) {
        const double x = negative ? -magnitude : magnitude;
        for (const bool saturate : {false, true}) {
          const double expected =
              signed_like(small, nearest(values, magnitude, overflow_of(small, saturate, values.back())), negative);
          if (same(round_to(small.type, x, {.saturate = saturate}), expected)) continue;
          ++wrong;
          MESSAGE(x, " became ", round_to(small.type, x, {.saturate = saturate}), ", not ", expected);
        }
      }
      if (wrong > 10) break;
    }
    CHECK(wrong == 0);

    // encode rounds as round_to does, but keeps infinities.
    std::vector<std::byte> bytes(packed_size(small.type, static_cast<std::int64_t>(inputs.size())).value());
    std::vector<double> encoded(inputs.size());
    encode(small.type, std::span<const double>(inputs), bytes);
    decode(small.type, bytes, std::span(encoded));
    for (double& x : inputs) {
      x = std::isinf(x) && small.format.special == SpecialValues::ieee ? x : round_to(small.type, x);
    }
    CHECK(std::equal(encoded.begin(), encoded.end(), inputs.begin(), same));
  }
}

TEST_CASE("NaN stays NaN where the type has one") {
  for (const Small& small : small_types) {
    CAPTURE(name_of(small.type));
    for (const double x : {not_a_number, -not_a_number}) {
      const double rounded = round_to(small.type, x);
      const bool finite = small.format.special == SpecialValues::finite;
      CHECK(same(rounded, finite ? -0.0 : not_a_number));
      std::byte bytes[2] = {};
      double back = 0;
      encode(small.type, std::span(&x, 1), bytes);
      decode(small.type, bytes, std::span(&back, 1));
      CHECK(same(back, rounded));
    }
  }
  CHECK(std::isnan(round_to(ElementType::float32, not_a_number)));
}

TEST_CASE("casts that implementations disagree about follow the specification's tables") {
  const FloatConversion strict{.saturate = false};
  CHECK(std::isnan(round_to(ElementType::float8e4m3fn, 480, strict)));
  CHECK(std::isnan(round_to(ElementType::float8e4m3fn, 465, strict)));
  CHECK(round_to(ElementType::float8e4m3fn, 464, strict) == 448);
  CHECK(round_to(ElementType::float8e4m3fn, 480) == 448);
  CHECK(round_to(ElementType::float8e5m2, 61440, strict) == inf);
  CHECK(round_to(ElementType::float8e5m2, 61439, strict) == 57344);
  CHECK(round_to(ElementType::float8e5m2, -inf, strict) == -inf);
  CHECK(round_to(ElementType::float8e5m2, -inf) == -57344);
  CHECK(std::isnan(round_to(ElementType::float8e5m2fnuz, inf, strict)));
  CHECK(same(round_to(ElementType::float8e5m2fnuz, -1e-9), 0.0));
  CHECK(round_to(ElementType::float8e8m0, inf) == power_of_two(127));
  CHECK(round_to(ElementType::float8e8m0, 1e-45) == power_of_two(-127));
  CHECK(wrap_to(ElementType::int4, std::int64_t{8}) == -8);
}

TEST_CASE("a float8e8m0 is a power of two") {
  constexpr ElementType type = ElementType::float8e8m0;
  const double least = power_of_two(-127), greatest = power_of_two(127);
  struct Row {
    double value, up, down, nearest;
  };
  const Row rows[] = {
      {1, 1, 1, 1},
      {std::nextafter(1.0, 2.0), 2, 1, 1},
      {1.25, 2, 1, 1},
      {std::nextafter(1.5, 1.0), 2, 1, 1},
      {1.5, 2, 1, 2},
      {std::nextafter(2.0, 1.0), 2, 1, 2},
      {0.124, 0.125, 0.0625, 0.125},
      {1.5 * least, 2 * least, least, 2 * least},
      {0.75 * greatest, greatest, greatest / 2, greatest},
  };
  for (const Row& row : rows) {
    CAPTURE(row.value);
    for (const bool saturate : {false, true}) {
      CHECK(round_to(type, row.value, {saturate, PowerRounding::up}) == row.up);
      CHECK(round_to(type, row.value, {saturate, PowerRounding::down}) == row.down);
      CHECK(round_to(type, row.value, {saturate, PowerRounding::nearest}) == row.nearest);
    }
  }
  for (const auto rounding : {PowerRounding::up, PowerRounding::down, PowerRounding::nearest}) {
    for (const double x : {0.0, -0.0, 1e-310, std::nextafter(least, 0.0)}) {
      CHECK(round_to(type, x, {true, rounding}) == least);
      CHECK(std::isnan(round_to(type, x, {false, rounding})));
    }
    for (const double x : {std::nextafter(greatest, inf), 1e300, inf}) {
      CHECK(round_to(type, x, {true, rounding}) == greatest);
      CHECK(std::isnan(round_to(type, x, {false, rounding})));
    }
    for (const double x : {not_a_number, -1.0, -inf}) CHECK(std::isnan(round_to(type, x, {true, rounding})));
  }
}

TEST_CASE("every code of float8e8m0 decodes and encodes to itself") {
  std::vector<std::byte> bytes(256), back(256);
  for (std::size_t code = 0; code < 256; ++code) bytes[code] = static_cast<std::byte>(code);
  std::vector<double> values(256);
  decode(ElementType::float8e8m0, bytes, std::span(values));
  for (int code = 0; code < 255; ++code) CHECK(values[static_cast<std::size_t>(code)] == std::ldexp(1.0, code - 127));
  CHECK(std::isnan(values[255]));
  encode(ElementType::float8e8m0, std::span<const double>(values), back);
  CHECK(back == bytes);
  for (const bool saturate : {false, true}) {
    std::vector<double> rounded = values;
    round_to(ElementType::float8e8m0, std::span(rounded), {.saturate = saturate});
    CHECK(std::equal(rounded.begin(), rounded.end(), values.begin(), same));
  }
}

TEST_CASE("float32 and float64") {
  const double x = 1.0 + 0x1p-24;
  CHECK(round_to(ElementType::float32, x) == 1.0);
  CHECK(round_to(ElementType::float32, std::nextafter(x, 2.0)) == 1.0 + 0x1p-23);
  CHECK(round_to(ElementType::float32, 1e39) == inf);
  CHECK(round_to(ElementType::float32, -0x1p-150) == 0.0);
  CHECK(round_to(ElementType::float32, 0x1.8p-149) == 0x1p-148);
  CHECK(round_to(ElementType::float64, 1e300) == 1e300);
  CHECK(largest_finite(ElementType::float32) == 0x1.fffffep127);
  CHECK(largest_finite(ElementType::float64) == std::numeric_limits<double>::max());
  const double values[] = {0.1, -inf, 1e-310};
  std::byte bytes[24];
  double back[3];
  encode(ElementType::float64, values, bytes);
  decode(ElementType::float64, bytes, std::span(back));
  CHECK(std::equal(back, back + 3, values));
  encode(ElementType::float32, values, bytes);
  decode(ElementType::float32, bytes, std::span(back));
  CHECK(back[0] == static_cast<double>(0.1f));
  CHECK(back[2] == 0.0);
}

TEST_CASE("rounding from double is not rounding by way of float32") {
  // A tie of float16 after rounding to float32, but below it in double.
  const double below_tie = 1.0 + 0x1p-11 + 0x1p-10 - 0x1p-40;
  CHECK(static_cast<double>(static_cast<float>(below_tie)) == 1.0 + 0x1p-11 + 0x1p-10);
  CHECK(round_to(ElementType::float16, below_tie) == 1.0 + 0x1p-10);
}

TEST_CASE("what numpy and ml_dtypes say of small floats") {
  std::ifstream file(ONNXKIT_TESTDATA "/dtype/small_floats.txt");
  int lines = 0;
  for (std::string line, kind, name; std::getline(file, line); ++lines) {
    std::istringstream words(line);
    words >> kind >> name;
    CAPTURE(kind);
    CAPTURE(name);
    const ElementType type = element_type_named(name).value();
    const auto code_value = [&](std::uint32_t code) {
      const std::byte bytes[] = {static_cast<std::byte>(code & 0xff), static_cast<std::byte>(code >> 8)};
      double value = 0;
      decode(type, bytes, std::span(&value, 1));
      return value;
    };
    int wrong = 0, seen = 0;
    words >> std::hex;
    for (std::uint32_t bits = 0, code = 0; words >> bits; ++seen) {
      const double real = std::bit_cast<float>(bits);
      if (kind == "decode") {
        if (!same(code_value(static_cast<std::uint32_t>(seen)), real)) ++wrong;
      } else {
        words >> code;
        REQUIRE(words);
        if (same(round_to(type, real, {.saturate = false}), code_value(code))) continue;
        ++wrong;
        MESSAGE(real, " became ", round_to(type, real, {.saturate = false}), ", not ", code_value(code));
      }
    }
    CHECK(seen >= 16);
    CHECK(wrong == 0);
  }
  CHECK(lines == 17);
}

}  // namespace onnxkit::tests::base_dtype_float
