#include "libonnxkit/compare/metrics/ulps.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/packed.h"
#include "libonnxkit/compare/metrics/elements.h"

namespace onnxkit::comparison {
namespace {

int mantissa_bits(ElementType type) {
  switch (type) {
    case ElementType::float64:
      return 52;
    case ElementType::float32:
      return 23;
    case ElementType::float16:
      return 10;
    case ElementType::bfloat16:
      return 7;
    case ElementType::float8e4m3fn:
    case ElementType::float8e4m3fnuz:
    case ElementType::float6e2m3:
      return 3;
    case ElementType::float8e5m2:
    case ElementType::float8e5m2fnuz:
    case ElementType::float6e3m2:
      return 2;
    case ElementType::float4e2m1:
      return 1;
    default:
      return 0;
  }
}

/// Codes of sign and magnitude in the order of their numbers, both zeros at 0.
std::int64_t order_of(std::uint64_t code) {
  const auto magnitude = static_cast<std::int64_t>(code & ~(std::uint64_t{1} << 63));
  return code >> 63 != 0 ? -magnitude : magnitude;
}
std::int32_t order_of(float value) {
  const auto code = std::bit_cast<std::int32_t>(value);
  const std::int32_t sign = code >> 31;
  return ((code & 0x7fffffff) ^ sign) - sign;
}

UlpDistances of_float64(std::span<const double> a, std::span<const double> b) {
  UlpDistances found;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t x = order_of(std::bit_cast<std::uint64_t>(a[i]));
    const std::int64_t y = order_of(std::bit_cast<std::uint64_t>(b[i]));
    const auto from = static_cast<std::uint64_t>(std::min(x, y)), to = static_cast<std::uint64_t>(std::max(x, y));
    const auto distance = static_cast<double>(to - from);
    found.sum += distance;
    found.largest = std::max(found.largest, distance);
  }
  return found;
}

UlpDistances of_float32(std::span<const double> a, std::span<const double> b) {
  std::array<std::uint32_t, Elements::most> distances;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int32_t x = order_of(static_cast<float>(a[i])), y = order_of(static_cast<float>(b[i]));
    const std::uint32_t apart = static_cast<std::uint32_t>(y) - static_cast<std::uint32_t>(x);
    distances[i] = y < x ? 0 - apart : apart;
  }
  std::uint64_t sum = 0;
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += distances[i];
    largest = std::max(largest, distances[i]);
  }
  return {static_cast<double>(sum), static_cast<double>(largest)};
}

/// Codes of `type` as numbers in the order of what they stand for.
void orders_in(ElementType type, std::span<const double> values, std::span<std::int32_t> out) {
  std::array<std::byte, 2 * Elements::most> bytes;
  const int bits = storage_bits(type);
  const auto size = (values.size() * static_cast<std::size_t>(bits) + 7) / 8;
  const auto packed = std::span(bytes.data(), size);
  encode(type, values, packed);
  const std::uint32_t sign = type == ElementType::float8e8m0 ? 0 : 1u << (bits - 1);
  const auto take = [&](std::size_t i, std::uint32_t code) {
    const auto magnitude = static_cast<std::int32_t>(code & ~sign);
    out[i] = (code & sign) != 0 ? -magnitude : magnitude;
  };
  if (bits == 4) return unpack_codes<4>(packed, values.size(), take);
  if (bits == 6) return unpack_codes<6>(packed, values.size(), take);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t code = 0;
    std::memcpy(&code, packed.data() + i * static_cast<std::size_t>(bits / 8), static_cast<std::size_t>(bits / 8));
    take(i, code);
  }
}

UlpDistances of_small(ElementType type, std::span<const double> a, std::span<const double> b) {
  std::array<std::int32_t, Elements::most> x, y;
  orders_in(type, a, x);
  orders_in(type, b, y);
  std::int64_t sum = 0;
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int32_t distance = std::max(x[i], y[i]) - std::min(x[i], y[i]);
    sum += distance;
    largest = std::max(largest, distance);
  }
  return {static_cast<double>(sum), static_cast<double>(largest)};
}

}  // namespace

ElementType coarser_type(ElementType a, ElementType b) {
  if (!is_floating(a) || !is_floating(b)) return ElementType::undefined;
  if (a != b && (a == ElementType::float8e8m0 || b == ElementType::float8e8m0)) return ElementType::undefined;
  const int a_bits = mantissa_bits(a), b_bits = mantissa_bits(b);
  if (a_bits != b_bits) return a_bits < b_bits ? a : b;
  return storage_bits(b) < storage_bits(a) ? b : a;
}

UlpDistances ulp_distances(ElementType type, std::span<const double> a, std::span<const double> b) {
  if (type == ElementType::float64) return of_float64(a, b);
  if (type == ElementType::float32) return of_float32(a, b);
  return of_small(type, a, b);
}

}  // namespace onnxkit::comparison
