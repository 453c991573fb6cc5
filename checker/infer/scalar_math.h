#pragma once

#include "checker/infer/constant.h"

// Arithmetic on the elements of small tensors, for shape arithmetic. A result that cannot be told exactly is unknown: reals are followed as
// constants, or as symbolic integers times exact binary fractions, never approximately.
namespace onnxkit::checker {

using ScalarUnary = Scalar (*)(DimPool&, const Scalar&, ElementType);
using ScalarBinary = Scalar (*)(DimPool&, const Scalar&, const Scalar&, ElementType);

Scalar scalar_add(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_sub(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_mul(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
/// Integers: towards zero, unknown by zero.
Scalar scalar_div(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
/// Sign of the divisor (Mod with fmod = 0); integers only.
Scalar scalar_mod(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_pow(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_min(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_max(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_equal(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_less(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_greater(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_less_or_equal(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_greater_or_equal(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_and(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_or(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);
Scalar scalar_xor(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type);

Scalar scalar_neg(DimPool& dims, const Scalar& a, ElementType type);
Scalar scalar_abs(DimPool& dims, const Scalar& a, ElementType type);
Scalar scalar_floor(DimPool& dims, const Scalar& a, ElementType type);
Scalar scalar_ceil(DimPool& dims, const Scalar& a, ElementType type);
Scalar scalar_round(DimPool& dims, const Scalar& a, ElementType type);
Scalar scalar_sqrt(DimPool& dims, const Scalar& a, ElementType type);
Scalar scalar_not(DimPool& dims, const Scalar& a, ElementType type);
Scalar scalar_sign(DimPool& dims, const Scalar& a, ElementType type);

}  // namespace onnxkit::checker
