#pragma once

#include "onnxkit/metrics.h"

namespace onnxkit::comparison {

std::string_view guess_task(const Tensor& tensor);

/// As onnxkit::outcome, on so many threads, 0 for all cores; the figures do not depend on their number.
Result<Outcome> outcome(std::string_view task, const Tensor& a, const Tensor& b, const Tensor& a_scores = {},
                        const Tensor& b_scores = {}, int threads = 0);

}  // namespace onnxkit::comparison
