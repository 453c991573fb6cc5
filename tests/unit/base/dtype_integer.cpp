#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::tests::base_dtype_integer {
namespace {

constexpr ElementType signed_types[] = {ElementType::int2,  ElementType::int4,  ElementType::int8,
                                        ElementType::int16, ElementType::int32, ElementType::int64};
constexpr ElementType unsigned_types[] = {ElementType::uint2,  ElementType::uint4,  ElementType::uint8,
                                          ElementType::uint16, ElementType::uint32, ElementType::uint64};

template <class T>
std::vector<T> through_bytes(ElementType type, const std::vector<T>& values) {
  std::vector<std::byte> bytes(packed_size(type, static_cast<std::int64_t>(values.size())).value(), std::byte{0xff});
  encode(type, std::span<const T>(values), bytes);
  std::vector<T> back(values.size());
  decode(type, bytes, std::span(back));
  return back;
}

/// The low bits by division, as two's complement says.
std::int64_t wrapped(std::int64_t value, int bits, bool is_signed) {
  if (bits == 64) return value;
  const std::int64_t modulus = std::int64_t{1} << bits;
  const std::int64_t low = ((value % modulus) + modulus) % modulus;
  return is_signed && low >= modulus / 2 ? low - modulus : low;
}

constexpr std::int64_t probes[] = {0,
                                   1,
                                   -1,
                                   3,
                                   7,
                                   8,
                                   -9,
                                   127,
                                   128,
                                   -129,
                                   200,
                                   255,
                                   256,
                                   32768,
                                   65536,
                                   -32769,
                                   2147483647,
                                   2147483648,
                                   -2147483649,
                                   4294967296,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()};

}  // namespace

TEST_CASE("integers keep their low bits") {
  for (const ElementType type : signed_types) {
    CAPTURE(name_of(type));
    std::vector<std::int64_t> values(std::begin(probes), std::end(probes)), expected;
    for (const std::int64_t value : values) expected.push_back(wrapped(value, storage_bits(type), true));
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(wrap_to(type, values[i]) == expected[i]);
    CHECK(through_bytes(type, values) == expected);
    wrap_to(type, std::span(values));
    CHECK(values == expected);
  }
  for (const ElementType type : unsigned_types) {
    CAPTURE(name_of(type));
    std::vector<std::uint64_t> values, expected;
    for (const std::int64_t value : probes) {
      values.push_back(static_cast<std::uint64_t>(value));
      expected.push_back(static_cast<std::uint64_t>(wrapped(value, storage_bits(type), false)));
    }
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(wrap_to(type, values[i]) == expected[i]);
    CHECK(through_bytes(type, values) == expected);
    wrap_to(type, std::span(values));
    CHECK(values == expected);
  }
  CHECK(wrap_to(ElementType::int8, std::int64_t{200}) == -56);
}

TEST_CASE("least and greatest numbers") {
  CHECK(least_of(ElementType::int2) == -2);
  CHECK(greatest_of(ElementType::int2) == 1);
  CHECK(greatest_of(ElementType::uint2) == 3);
  CHECK(least_of(ElementType::int4) == -8);
  CHECK(greatest_of(ElementType::uint4) == 15);
  CHECK(least_of(ElementType::uint8) == 0);
  CHECK(greatest_of(ElementType::int16) == 32767);
  CHECK(greatest_of(ElementType::uint32) == 4294967295);
  CHECK(least_of(ElementType::int64) == std::numeric_limits<std::int64_t>::min());
  CHECK(greatest_of(ElementType::int64) == std::numeric_limits<std::int64_t>::max());
  CHECK(greatest_of(ElementType::uint64) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("packed integers lie in the lowest bits first, and what is left over is zero") {
  std::byte bytes[2] = {std::byte{0xff}, std::byte{0xff}};
  const std::int64_t three[] = {-8, 7, -1};
  encode(ElementType::int4, three, bytes);
  CHECK(bytes[0] == std::byte{0x78});
  CHECK(bytes[1] == std::byte{0x0f});
  const std::uint64_t five[] = {0, 1, 2, 3, 1};
  encode(ElementType::uint2, five, bytes);
  CHECK(bytes[0] == std::byte{0b11'10'01'00});
  CHECK(bytes[1] == std::byte{1});
  const double six_bit[] = {-7.5, 0.125, 1.0, -0.0, 7.5};  // codes 0x3f 0x01 0x08 0x20 0x1f
  std::byte stream[4] = {};
  encode(ElementType::float6e2m3, six_bit, stream);
  CHECK(stream[0] == std::byte{0x7f});
  CHECK(stream[1] == std::byte{0x80});
  CHECK(stream[2] == std::byte{0x80});
  CHECK(stream[3] == std::byte{0x1f});
}

TEST_CASE("sizes of packed elements") {
  CHECK(packed_size(ElementType::int4, 3) == 2);
  CHECK(packed_size(ElementType::uint2, 5) == 2);
  CHECK(packed_size(ElementType::float6e3m2, 5) == 4);
  CHECK(packed_size(ElementType::complex128, 2) == 32);
  CHECK(packed_size(ElementType::boolean, 0) == 0);
  CHECK(!packed_size(ElementType::string, 1));
  CHECK(!packed_size(ElementType::undefined, 1));
  CHECK(!packed_size(ElementType::float32, -1));
  CHECK(!packed_size(ElementType::complex128, std::numeric_limits<std::int64_t>::max()));
  CHECK(packed_size(ElementType::int2, std::numeric_limits<std::int64_t>::max()) == (std::uint64_t{1} << 61));
}

TEST_CASE("booleans are bytes that are not zero") {
  const std::byte bytes[] = {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{0x80}};
  bool values[4];
  decode(ElementType::boolean, bytes, std::span<bool>(values));
  CHECK((!values[0] && values[1] && values[2] && values[3]));
  std::byte back[4];
  encode(ElementType::boolean, std::span<const bool>(values), back);
  CHECK(back[0] == std::byte{0});
  CHECK(back[3] == std::byte{1});
}

TEST_CASE("complex numbers") {
  using Complex = std::complex<double>;
  std::vector<Complex> values = {{0.1, -2.5}, {1e300, 0}};
  CHECK(through_bytes(ElementType::complex128, values) == values);
  const auto rounded = through_bytes(ElementType::complex64, values);
  CHECK(rounded[0] == Complex(0.1f, -2.5));
  CHECK(rounded[1].real() == std::numeric_limits<double>::infinity());
  round_to(ElementType::complex64, std::span(values));
  CHECK(values == rounded);
}

}  // namespace onnxkit::tests::base_dtype_integer
