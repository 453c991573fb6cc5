#pragma once

#include "onnxkit/metrics.h"

namespace onnxkit::comparison {

Task guess_task(const Tensor& tensor);

/// As onnxkit::outcome, on so many threads, 0 for all cores; the figures do not depend on their number.
Result<Outcome> outcome(Task task, const Tensor& a, const Tensor& b, const Tensor& a_scores = {},
                        const Tensor& b_scores = {}, int threads = 0);

// One task each. The tensors hold numbers or booleans.
Result<Outcome> logits_outcome(const Tensor& a, const Tensor& b, int threads);
Result<Outcome> segmentation_outcome(const Tensor& a, const Tensor& b, int threads);
Result<Outcome> detections_outcome(const Tensor& a, const Tensor& b, const Tensor& a_scores, const Tensor& b_scores);
Result<Outcome> tokens_outcome(const Tensor& a, const Tensor& b);

}  // namespace onnxkit::comparison
