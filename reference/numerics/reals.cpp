#include "reference/numerics/reals.h"

#include <algorithm>
#include <cmath>

#include "reference/numerics/arithmetic.h"
#include "reference/numerics/quantize.h"

namespace onnxkit::reference {

Tensor as_reals(const KernelContext& context, const Tensor& x) {
  if (x.domain() == Domain::real) return x.retyped(real_type);
  return dispatch_scalars(x.domain(), [&]<class T>(std::type_identity<T>) {
    return map<T, double>(context, x, real_type, [](T v) { return static_cast<double>(v); });
  });
}

Affine affine_at(const KernelContext& context, std::size_t scale_input, std::size_t zero_input) {
  const Tensor* zero = context.find_input(zero_input);
  return {context.input(scale_input).real(), zero ? zero->real() : 0};
}

Tensor dequantized(const KernelContext& context, const Tensor& x, Affine by) {
  return map_reals(context, as_reals(context, x), real_type, [by](double v) { return by.real(v); });
}

Tensor through_uint8(const KernelContext& context, const Tensor& x) {
  double least = 0, most = 0;
  for (const double value : x.as<double>()) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const double scale = least == most ? 1 : static_cast<float>((most - least) / 255);
  const Affine by{scale, std::clamp(std::nearbyint(-least / scale), 0.0, 255.0)};
  return dequantized(context, quantized(context, x, by, ElementType::uint8), by);
}

Tensor dequantized(const KernelContext& context, const Tensor& x, const Tensor* scale, const Tensor* zero) {
  Tensor reals = as_reals(context, x);
  if (zero)
    reals = map_reals(context, reals, as_reals(context, *zero), real_type, [](double v, double z) { return v - z; });
  if (scale)
    reals = map_reals(context, reals, as_reals(context, *scale), real_type, [](double v, double s) { return v * s; });
  require(reals.dims() == x.dims(), "a scale or zero point does not match its tensor");
  return reals;
}

Tensor quantized(const KernelContext& context, const Tensor& reals, Affine by, ElementType type) {
  const double scale = by.scale;
  const Tensor exact = map_reals(context, reals, real_type, [scale](double v) { return v / scale; });
  const Tensor quotients = over_edges(context, exact, type);
  const auto least = static_cast<double>(least_of(type)), greatest = static_cast<double>(greatest_of(type));
  return dispatch_numbers(domain_of(type), [&]<class T>(std::type_identity<T>) {
    return map<double, T>(context, quotients, type, [=](double quotient) {
      const double whole = std::isnan(quotient) ? 0 : std::nearbyint(quotient);
      return from_real<T>(std::clamp(whole + by.zero, least, greatest));
    });
  });
}

Tensor sum_of(const KernelContext& context, const Tensor& a, const Tensor& b) {
  return map_reals(context, as_reals(context, a), as_reals(context, b), real_type,
                   [](double x, double y) { return x + y; });
}

}  // namespace onnxkit::reference
