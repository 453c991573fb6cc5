#pragma once

#include <cmath>

#include "reference/kernels/broadcast.h"

// Numbers of any type in double, and linear quantization by scale and zero point.
namespace onnxkit::reference {

inline constexpr std::string_view microsoft_domain = "com.microsoft";
/// The form of Gelu with tanh, as operators of com.microsoft compute it.
inline double tanh_gelu_microsoft(double x) {
  constexpr double slope = 0.7978845608028654;  // sqrt(2 / pi)
  return 0.5 * x * (1 + std::tanh(slope * (x + 0.044715 * x * x * x)));
}

/// The type that intermediate results are marked with. They are kept in double all the same; contractions of float64 would be made in
/// twice the precision.
inline constexpr ElementType real_type = ElementType::float32;

/// Numbers of any type as reals.
Tensor as_reals(const KernelContext& context, const Tensor& x);

/// What one scale and one zero point make of integers: real = (integer - zero) * scale.
struct Affine {
  double scale = 1, zero = 0;

  double real(double integer) const { return (integer - zero) * scale; }
};
/// From two inputs of one element each; the zero point may be omitted.
Affine affine_at(const KernelContext& context, std::size_t scale_input, std::size_t zero_input);

/// The reals that quantized numbers stand for.
Tensor dequantized(const KernelContext& context, const Tensor& x, Affine by);
/// round(x / scale) + zero as an integer type: halves to even, saturated, NaN as zero.
Tensor quantized(const KernelContext& context, const Tensor& reals, Affine by, ElementType type);

/// (x - zero) * scale where both broadcast against x; either may be null.
Tensor dequantized(const KernelContext& context, const Tensor& x, const Tensor* scale, const Tensor* zero);

/// As DynamicQuantizeLinear and DequantizeLinear make it: uint8 over a range that holds 0 and all of x.
Tensor through_uint8(const KernelContext& context, const Tensor& x);

/// y[i] = f(x[i]) on reals.
template <class F>
Tensor map_reals(const KernelContext& context, const Tensor& x, ElementType type, F f) {
  return map<double, double>(context, x, type, f);
}
template <class F>
Tensor map_reals(const KernelContext& context, const Tensor& a, const Tensor& b, ElementType type, F f) {
  return map<double, double, double>(context, a, b, type, f);
}
Tensor sum_of(const KernelContext& context, const Tensor& a, const Tensor& b);

}  // namespace onnxkit::reference
