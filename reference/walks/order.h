#pragma once

#include <cmath>
#include <complex>
#include <string>

#include "reference/tensor.h"

// The order in which values are sorted, as numpy has it: NaN comes last and is equal to itself, complex numbers by real, then imaginary part.
namespace onnxkit::reference {

template <class T>
bool precedes(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Complex>) {
    return precedes(a.real(), b.real()) || (!precedes(b.real(), a.real()) && precedes(a.imag(), b.imag()));
  } else if constexpr (std::is_same_v<T, double>) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  } else {
    return a < b;
  }
}

}  // namespace onnxkit::reference
