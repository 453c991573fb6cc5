#pragma once

#include "libonnxkit/cpu/map/operations.h"

namespace onnxkit::cpu {

/// The fastest way to compute an operation: a loop of the best instruction set or a function of the C library. By numbers as OperationTable::find.
/// Null where there is none.
Operate* operation_for(plan::Operation operation, Held held);
/// x * sigmoid(x) of float32.
Operate* silu();

}  // namespace onnxkit::cpu
