#pragma once

namespace onnxkit::tools {

/// "0.1.0"
extern const char* const version;

}  // namespace onnxkit::tools
