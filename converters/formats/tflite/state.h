#pragma once

#include "converters/foreign/graph.h"
#include "onnxkit/result.h"

namespace onnxkit::tflite {

/// Turns variables (VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, with what CALL_ONCE stores in them) into values: those that the main graph changes
/// become inputs and outputs, others constants. Error code: not-supported, where that cannot be told.
Result<void> resolve_variables(foreign::Model& model);

}  // namespace onnxkit::tflite
