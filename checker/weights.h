#pragma once

#include "checker/rule_registry.h"

namespace onnxkit::checker {

/// Reads every floating-point weight and warns of NaN (weight-nan), infinities (weight-infinite) and denormals (weight-denormal). The only
/// part of check whose time grows with the weights.
void inspect_weights(RuleContext& context);

}  // namespace onnxkit::checker
