#pragma once

#include <vector>

#include "reference/executor/tensor.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {

/// All elements as int64, for counts, sizes and indices that may come as reals: those lose their fraction, and out of range give the nearest end.
inline std::vector<std::int64_t> whole_numbers(const Tensor& tensor) {
  if (tensor.domain() != Domain::real) return tensor.integers();
  std::vector<std::int64_t> out;
  for (const double x : tensor.as<double>()) out.push_back(from_real<std::int64_t>(x));
  return out;
}

/// The only element.
inline std::int64_t whole_number(const Tensor& tensor) {
  require(tensor.size() == 1, "expected a single number");
  return whole_numbers(tensor).front();
}

}  // namespace onnxkit::reference
