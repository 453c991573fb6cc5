#pragma once

#include <string>

namespace onnxkit::tools {

/// The interpreter of Python backends when nobody names one: ONNXKIT_PYTHON, else python3.
std::string usual_python();

}  // namespace onnxkit::tools
