#pragma once

#include "libonnxkit/ir/model.h"
#include "libonnxkit/plan/steps.h"
#include "onnxkit/error.h"

// Errors of runs name a node by what it is called or writes, which passes and parts of models keep, until it is looked up in the model that the
// user has: Location::node_name without a scope.
namespace onnxkit::plan {

/// An error at a node of `model` by what the node writes first, since several may have one name; others as they are.
Error by_name_in(Error error, const ir::Model& model);
/// An error that came up in a step of a plan. Those of host steps name the node of the part that failed, all others have a note on the step.
Error in_step(Error error, const Plan& plan, const Step& step);
/// With the place in `original` of the node that the error names; without one where no node or several have that name.
Error placed(Error error, const ir::Model& original);

}  // namespace onnxkit::plan
