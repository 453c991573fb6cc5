#pragma once

#include "checker/rule_registry.h"
#include "checker/targets/profile.h"

namespace onnxkit::checker {

/// Holds a model against a support profile: target-opset, target-ir-version and target-static-shapes for the model as a whole, one
/// target-unsupported for each node that cannot run, one target-unknown for each reason why nobody knows (with the number of nodes), and
/// one target-narrowed for each element type that the target computes in a smaller one.
/// Precondition: context.inferred is not null.
void check_target(RuleContext& context, const TargetProfile& profile);

}  // namespace onnxkit::checker
