#pragma once

#include <string>

#include "onnxkit/diff.h"
#include "onnxkit/run.h"

namespace onnxkit::tools {

/// Completed inputs as a set of a comparison or measurement.
InputSet input_set(std::string name, CompletedInputs inputs);

}  // namespace onnxkit::tools
