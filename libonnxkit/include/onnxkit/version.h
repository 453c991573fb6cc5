#pragma once

#include <string_view>

#include "onnxkit/export.h"

// The build reads the version from here. While the major version is 0, libraries of different minor versions are different libraries:
// docs/ABI.md says what is promised.
#define ONNXKIT_VERSION_MAJOR 0
#define ONNXKIT_VERSION_MINOR 1
#define ONNXKIT_VERSION_PATCH 0
/// "0.1.0" as a number to compare: 100.
#define ONNXKIT_VERSION_NUMBER (ONNXKIT_VERSION_MAJOR * 10000 + ONNXKIT_VERSION_MINOR * 100 + ONNXKIT_VERSION_PATCH)

namespace onnxkit {

/// Version of the library that the program runs with: "0.1.0". The macros are those that it was compiled with.
ONNXKIT_API std::string_view version();

}  // namespace onnxkit
