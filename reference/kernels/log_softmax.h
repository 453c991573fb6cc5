#pragma once

#include <cmath>
#include <limits>

#include "reference/kernels/axes.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {

inline void log_softmax(StridedRow<const double> x, StridedRow<double> y) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) most = greater_of(most, x[i]);
  for (std::int64_t i = 0; i < x.size(); ++i) sum += std::exp(x[i] - most);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i] - most - std::log(sum);
}

}  // namespace onnxkit::reference
