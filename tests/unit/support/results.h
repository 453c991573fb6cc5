#pragma once

#include <string>

namespace onnxkit::tests {

/// The code of the error, "" without one.
inline std::string code_of(const auto& result) { return result ? "" : result.error().diagnostic.code; }

}  // namespace onnxkit::tests
