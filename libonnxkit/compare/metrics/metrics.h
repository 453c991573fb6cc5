#pragma once

#include "onnxkit/metrics.h"

namespace onnxkit::comparison {

/// As onnxkit::compare, on so many threads, 0 for all cores; the figures do not depend on their number.
Result<Metrics> compare(const Tensor& a, const Tensor& b, std::size_t worst = 10, int threads = 0);

}  // namespace onnxkit::comparison
