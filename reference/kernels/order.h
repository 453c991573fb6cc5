#pragma once

#include <cmath>
#include <complex>
#include <string>

#include "reference/executor/kernel.h"
#include "reference/executor/tensor.h"

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

/// For the comparisons of a sort: ends it with a Fault when the run is cancelled or out of time.
class SortWatch {
 public:
  explicit SortWatch(const KernelContext& context) : context_(context) {}
  void look() {
    constexpr std::uint64_t every = 1 << 14;
    if (++comparisons_ % every == 0) context_.check_iteration(0);
  }

 private:
  const KernelContext& context_;
  std::uint64_t comparisons_ = 0;
};

}  // namespace onnxkit::reference
