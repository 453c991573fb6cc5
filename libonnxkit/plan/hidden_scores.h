#pragma once

#include <vector>

#include "libonnxkit/plan/plan.h"

namespace onnxkit::plan {

/// By buffer, true for scores on their way to a softmax that a model hides with numbers which the type of 16 bits does not hold, as -1e30 in float16,
/// or may hide with numbers of the caller, and for such masks: stored as infinities, those of a query without any key would give NaN, not the mean.
/// Attention steps take such masks as they are.
std::vector<bool> hidden_scores(const Plan& plan, ElementType type);

}  // namespace onnxkit::plan
