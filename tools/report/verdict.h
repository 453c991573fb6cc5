#pragma once

#include <optional>
#include <string>

#include "onnxkit/opset.h"
#include "tools/report/json.h"

namespace onnxkit::tools {

/// "equal on the reference", "the results differ: ...", "not verified".
std::string verdict_text(const std::optional<VerifyReport>& verified);
/// null where nobody asked.
Json verdict_json(const std::optional<VerifyReport>& verified);

}  // namespace onnxkit::tools
