#include "libonnxkit/compare/metrics/elements.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::comparison {
namespace {

/// Elements that end on a byte together, whatever their width.
constexpr std::size_t group = 8;

template <class T, class Real>
void decode_as(ElementType type, std::span<const std::byte> bytes, std::size_t skip, std::span<Real> out) {
  std::array<T, Elements::most + group> elements;
  decode(type, bytes, std::span<T>(elements.data(), skip + out.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Real>(elements[skip + i]);
}

}  // namespace

bool are_numbers(ElementType type) {
  const Domain domain = domain_of(type);
  return type != ElementType::undefined && domain != Domain::string && domain != Domain::complex;
}

std::span<const std::byte> Elements::bytes(std::size_t first, std::size_t count) const {
  const auto bits = static_cast<std::size_t>(storage_bits(type_));
  const std::size_t from = first / group * bits, until = from + (count * bits + 7) / 8;
  return bytes_.subspan(from, until - from);
}

void Elements::prefetch(std::size_t first) const {
  constexpr std::size_t cache_line = 64;
  const auto bits = static_cast<std::size_t>(storage_bits(type_));
  const std::size_t from = first / group * bits, until = std::min(bytes_.size(), from + most / group * bits);
  for (std::size_t at = from; at < until; at += cache_line) __builtin_prefetch(bytes_.data() + at, 0, 1);
}

template <class Real>
void Elements::read_as(std::size_t first, std::span<Real> out) const {
  const auto bits = static_cast<std::size_t>(storage_bits(type_));
  const std::size_t skip = bits < 8 ? first % group : 0;
  const std::size_t from = bits < 8 ? first / group * bits : first * (bits / 8);
  const auto bytes = bytes_.subspan(from, std::min(bytes_.size() - from, ((skip + out.size()) * bits + 7) / 8));
  switch (domain_of(type_)) {
    case Domain::integer:
      return decode_as<std::int64_t>(type_, bytes, skip, out);
    case Domain::natural:
      return decode_as<std::uint64_t>(type_, bytes, skip, out);
    case Domain::boolean:
      return decode_as<bool>(type_, bytes, skip, out);
    default:
      if constexpr (std::is_same_v<Real, double>) {
        if (skip == 0) return decode(type_, bytes, out);
      }
      return decode_as<double>(type_, bytes, skip, out);
  }
}

template void Elements::read_as(std::size_t, std::span<double>) const;
template void Elements::read_as(std::size_t, std::span<long double>) const;

}  // namespace onnxkit::comparison
