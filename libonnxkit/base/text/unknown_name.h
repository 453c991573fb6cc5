#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit {

/// "the model has no WHAT NAME", with the names that there are and the nearest of them.
Error unknown_name(ErrorCode code, std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& candidates);

}  // namespace onnxkit
