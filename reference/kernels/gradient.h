#pragma once

#include "reference/executor/kernel.h"

namespace onnxkit::reference {

/// The kernel of Gradient: derivatives of the sum of y's elements by each of xs, in reverse mode over the nodes between them.
void gradient(KernelContext& context);

}  // namespace onnxkit::reference
