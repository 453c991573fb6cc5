#include "libonnxkit/compare/metrics/compare.h"

#include <cmath>
#include <complex>
#include <memory>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/compare/metrics/elements.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::comparison {
namespace {

/// How far apart two numbers are beyond the tolerance; 0 or less when they agree.
double excess(double expected, double got, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(got))
    return std::isnan(expected) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  if (expected == got) return 0;
  const double apart = std::abs(expected - got) - tolerance.absolute - tolerance.relative * std::abs(expected);
  return std::isnan(apart) || !std::isfinite(expected) ? std::numeric_limits<double>::infinity() : apart;
}
double excess(const std::complex<double>& expected, const std::complex<double>& got, const Tolerance& tolerance) {
  return std::max(excess(expected.real(), got.real(), tolerance), excess(expected.imag(), got.imag(), tolerance));
}
double excess(std::int64_t expected, std::int64_t got, const Tolerance& tolerance) {
  const double apart = std::abs(static_cast<double>(expected) - static_cast<double>(got));
  return expected == got
             ? 0
             : std::max(apart - static_cast<double>(tolerance.integers), tolerance.integers == 0 ? 1.0 : 0.0);
}
double excess(std::uint64_t expected, std::uint64_t got, const Tolerance& tolerance) {
  const double apart = std::abs(static_cast<double>(expected) - static_cast<double>(got));
  return expected == got
             ? 0
             : std::max(apart - static_cast<double>(tolerance.integers), tolerance.integers == 0 ? 1.0 : 0.0);
}
double excess(bool expected, bool got, const Tolerance&) { return expected == got ? 0 : 1; }

std::string text(double x) { return fmt::format("{}", x); }
std::string text(std::int64_t x) { return fmt::format("{}", x); }
std::string text(std::uint64_t x) { return fmt::format("{}", x); }
std::string text(bool x) { return x ? "true" : "false"; }
std::string text(const std::complex<double>& x) { return fmt::format("{}{:+}i", x.real(), x.imag()); }

template <class T>
std::optional<std::string> worst_element(const Tensor& expected, const Tensor& got, const Tolerance& tolerance) {
  const auto a = all_elements<T>(expected), b = all_elements<T>(got);
  std::int64_t differing = 0, worst = 0;
  double most = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double by = excess(a[static_cast<std::size_t>(i)], b[static_cast<std::size_t>(i)], tolerance);
    if (!(by > 0)) continue;
    ++differing;
    if (by > most) {
      most = by;
      worst = i;
    }
  }
  if (differing == 0) return std::nullopt;
  return fmt::format("{} of {} elements differ; the worst, {}, is {} instead of {}", differing, expected.size(), worst,
                     text(b[static_cast<std::size_t>(worst)]), text(a[static_cast<std::size_t>(worst)]));
}

std::optional<std::string> tensor_difference(const Tensor& expected, const Tensor& got, const Tolerance& tolerance) {
  if (expected.type() != got.type())
    return fmt::format("the type is {} instead of {}", name_of(got.type()), name_of(expected.type()));
  if (expected.dims() != got.dims())
    return fmt::format("the shape is [{}] instead of [{}]", fmt::join(got.dims(), ", "),
                       fmt::join(expected.dims(), ", "));
  switch (domain_of(expected.type())) {
    case Domain::real:
      return worst_element<double>(expected, got, tolerance);
    case Domain::integer:
      return worst_element<std::int64_t>(expected, got, tolerance);
    case Domain::natural:
      return worst_element<std::uint64_t>(expected, got, tolerance);
    case Domain::boolean:
      return worst_element<bool>(expected, got, tolerance);
    case Domain::complex:
      return worst_element<std::complex<double>>(expected, got, tolerance);
    case Domain::string:
      break;
  }
  for (std::size_t i = 0; i < expected.strings().size(); ++i) {
    if (expected.strings()[i] != got.strings()[i])
      return fmt::format("element {} is {} instead of {}", i, quote(got.strings()[i]), quote(expected.strings()[i]));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> difference(const Value& expected, const Value& got, const Tolerance& tolerance) {
  if (expected.kind != got.kind || expected.items.size() != got.items.size())
    return fmt::format("the value is {} instead of {}", type_text(got), type_text(expected));
  if (expected.kind == ValueKind::tensor || expected.kind == ValueKind::map) {
    if (auto found = tensor_difference(expected.tensor, got.tensor, tolerance)) return found;
  }
  for (std::size_t i = 0; i < expected.items.size(); ++i) {
    if (auto found = difference(expected.items[i], got.items[i], tolerance))
      return fmt::format("item {}: {}", i, *found);
  }
  return std::nullopt;
}

}  // namespace onnxkit::comparison
