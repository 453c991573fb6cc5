#include "libonnxkit/base/dtype/dtype.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/packed.h"

namespace onnxkit {
namespace {

static_assert(std::endian::native == std::endian::little,
              "packed elements are read and written in their memory layout");

/// Calls f(T()) with the machine's integer of the type's width; false for packed and other types.
template <class F>
bool with_integer(ElementType type, F&& f) {
  switch (type) {
    case ElementType::int8:
      f(std::int8_t());
      return true;
    case ElementType::int16:
      f(std::int16_t());
      return true;
    case ElementType::int32:
      f(std::int32_t());
      return true;
    case ElementType::int64:
      f(std::int64_t());
      return true;
    case ElementType::uint8:
      f(std::uint8_t());
      return true;
    case ElementType::uint16:
      f(std::uint16_t());
      return true;
    case ElementType::uint32:
      f(std::uint32_t());
      return true;
    case ElementType::uint64:
      f(std::uint64_t());
      return true;
    default:
      return false;
  }
}

bool is_signed(ElementType type) { return domain_of(type) == Domain::integer; }

/// The low `width` bits, below 64, as a number of T.
template <class T>
T low_bits(T value, int width) {
  const int shift = 64 - width;
  return static_cast<T>(static_cast<T>(static_cast<std::uint64_t>(value) << shift) >> shift);
}

template <class T>
void wrap_all(ElementType type, std::span<T> values) {
  const bool whole = with_integer(type, [&](auto narrow) {
    if constexpr (sizeof(narrow) < sizeof(T)) {
      for (T& value : values) value = static_cast<T>(static_cast<decltype(narrow)>(value));
    }
  });
  if (whole) return;
  const int width = storage_bits(type);
  for (T& value : values) value = low_bits(value, width);
}

template <class T, int Bits>
void decode_codes(std::span<const std::byte> bytes, std::span<T> out) {
  unpack_codes<Bits>(bytes, out.size(), [&](std::size_t i, std::uint32_t code) { out[i] = low_bits<T>(code, Bits); });
}

template <class T>
void decode_integers(ElementType type, std::span<const std::byte> bytes, std::span<T> out) {
  const bool whole = with_integer(type, [&](auto narrow) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::memcpy(&narrow, bytes.data() + i * sizeof(narrow), sizeof(narrow));
      out[i] = static_cast<T>(narrow);
    }
  });
  if (whole) return;
  if (storage_bits(type) == 4) decode_codes<T, 4>(bytes, out);
  if (storage_bits(type) == 2) decode_codes<T, 2>(bytes, out);
}

template <class T>
void encode_integers(ElementType type, std::span<const T> in, std::span<std::byte> bytes) {
  const bool whole = with_integer(type, [&](auto narrow) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      narrow = static_cast<decltype(narrow)>(in[i]);
      std::memcpy(bytes.data() + i * sizeof(narrow), &narrow, sizeof(narrow));
    }
  });
  if (whole) return;
  if (storage_bits(type) == 4) pack_codes<4>(in.size(), bytes, [&](std::size_t i) { return in[i]; });
  if (storage_bits(type) == 2) pack_codes<2>(in.size(), bytes, [&](std::size_t i) { return in[i]; });
}

/// Real and imaginary parts one after another.
std::span<double> parts(std::span<std::complex<double>> values) {
  return {reinterpret_cast<double*>(values.data()), 2 * values.size()};
}
std::span<const double> parts(std::span<const std::complex<double>> values) {
  return {reinterpret_cast<const double*>(values.data()), 2 * values.size()};
}
ElementType part_type(ElementType type) {
  return type == ElementType::complex64 ? ElementType::float32 : ElementType::float64;
}

}  // namespace

std::int64_t wrap_to(ElementType type, std::int64_t value) {
  wrap_all(type, std::span(&value, 1));
  return value;
}
std::uint64_t wrap_to(ElementType type, std::uint64_t value) {
  wrap_all(type, std::span(&value, 1));
  return value;
}
void wrap_to(ElementType type, std::span<std::int64_t> values) { wrap_all(type, values); }
void wrap_to(ElementType type, std::span<std::uint64_t> values) { wrap_all(type, values); }

std::int64_t least_of(ElementType type) {
  return is_signed(type) ? std::numeric_limits<std::int64_t>::min() >> (64 - storage_bits(type)) : 0;
}

std::int64_t greatest_of(ElementType type) {
  const int bits = storage_bits(type) - (is_signed(type) ? 1 : 0);
  return std::numeric_limits<std::int64_t>::max() >> std::max(63 - bits, 0);
}

std::optional<std::uint64_t> packed_size(ElementType type, std::int64_t count) {
  const int bits = storage_bits(type);
  if (bits == 0 || count < 0) return std::nullopt;
  const auto elements = static_cast<std::uint64_t>(count);
  const auto width = static_cast<std::uint64_t>(bits);
  if (bits >= 8) return checked_mul<std::uint64_t>(elements, width / 8);
  return elements / 8 * width + (elements % 8 * width + 7) / 8;
}

void round_to(ElementType type, std::span<std::complex<double>> values) { round_to(part_type(type), parts(values)); }

void decode(ElementType type, std::span<const std::byte> bytes, std::span<std::int64_t> out) {
  decode_integers(type, bytes, out);
}
void decode(ElementType type, std::span<const std::byte> bytes, std::span<std::uint64_t> out) {
  decode_integers(type, bytes, out);
}
void decode(ElementType, std::span<const std::byte> bytes, std::span<bool> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = bytes[i] != std::byte{0};
}
void decode(ElementType type, std::span<const std::byte> bytes, std::span<std::complex<double>> out) {
  decode(part_type(type), bytes, parts(out));
}

void encode(ElementType type, std::span<const std::int64_t> in, std::span<std::byte> bytes) {
  encode_integers(type, in, bytes);
}
void encode(ElementType type, std::span<const std::uint64_t> in, std::span<std::byte> bytes) {
  encode_integers(type, in, bytes);
}
void encode(ElementType, std::span<const bool> in, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < in.size(); ++i) bytes[i] = in[i] ? std::byte{1} : std::byte{0};
}
void encode(ElementType type, std::span<const std::complex<double>> in, std::span<std::byte> bytes) {
  encode(part_type(type), parts(in), bytes);
}

}  // namespace onnxkit
