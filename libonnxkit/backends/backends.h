#pragma once

#include "libonnxkit/exec/registry.h"

namespace onnxkit {

/// Every backend that this library was built with.
exec::BackendRegistry all_backends();

}  // namespace onnxkit
