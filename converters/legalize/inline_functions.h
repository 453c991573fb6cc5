#pragma once

#include <functional>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"

namespace onnxkit::legalize {

/// The function whose body stands for a node; null for nodes that stay. What it points to lives until the next call.
using FindBody = std::function<const ir::Function*(const ir::Node& node)>;

/// Replaces nodes of all graphs of the model by the bodies that `find` has for them, in these bodies too. Attributes that a body refers to are those of
/// the node, inputs that the node leaves out are left out in the body. Values of a body get names that the model does not have yet. Imports of a body's
/// domains that the model lacks are added. Error code: unsupported-operator, where bodies hold one another without end.
Result<void> inline_bodies(ir::Model& model, const FindBody& find);

}  // namespace onnxkit::legalize
